//! What a process has open: sockets with both their ends, files by their path.

use std::fs;

use telemetry::mask_secrets;

use super::sockets::Sockets;

/// Descriptors that are shown.
const SHOWN_MAX: usize = 32;
/// Descriptors that are looked at.
const LOOKED_MAX: usize = 1_024;
/// Characters of a path.
const PATH_CHARS: usize = 200;

/// What is open.
#[derive(Debug, Default)]
pub(super) struct Open {
    pub(super) sockets: Vec<String>,
    pub(super) files: Vec<String>,
    pub(super) more: u32,
}

/// What a process has open; nothing where it is another user's.
pub(super) fn of(pid: i32) -> Open {
    let mut open = Open::default();
    let mut sockets = None;
    let entries = fs::read_dir(format!("/proc/{pid}/fd"))
        .into_iter()
        .flatten()
        .flatten();
    for entry in entries.take(LOOKED_MAX) {
        let Ok(target) = fs::read_link(entry.path()) else {
            continue;
        };
        if open.sockets.len() + open.files.len() >= SHOWN_MAX {
            open.more += 1;
            continue;
        }
        let target = target.to_string_lossy();
        let inode = target
            .strip_prefix("socket:[")
            .and_then(|rest| rest.strip_suffix(']'));
        match inode {
            Some(inode) => {
                let known = sockets.get_or_insert_with(|| Sockets::of(pid));
                open.sockets.push(known.describe(inode));
            }
            None => open.files.push(shown(&target)),
        }
    }
    open
}

/// A path may hold a secret too, as a name does that ends with a token.
fn shown(path: &str) -> String {
    let masked = mask_secrets(path);
    let plain = masked
        .chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c });
    plain.take(PATH_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn sockets_are_shown_with_both_ends_and_files_by_their_path() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let stream = TcpStream::connect(address).unwrap();
        let open = of(i32::try_from(std::process::id()).unwrap());
        let wanted = format!("tcp {} -> {address} established", stream.local_addr().unwrap());
        assert!(open.sockets.contains(&wanted), "{wanted} in {open:?}");
        assert!(
            open.sockets.contains(&format!("tcp {address} listen")),
            "{open:?}"
        );
        assert!(!open.files.is_empty());
        assert_eq!(shown("/run/token=abc\n"), "/run/token=***\u{fffd}");
    }
}
