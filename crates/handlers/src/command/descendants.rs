//! The processes that come from this one, however far they went away from it.

use std::{collections::BTreeMap, fs};

use nix::{
    sys::signal::{Signal, kill},
    unistd::{Pid, getpid},
};

/// Sends `signal` to every descendant. This process is their subreaper, so that none of them can leave the tree.
pub(super) fn signal_all(signal: Signal) {
    for pid in descendants(getpid()) {
        let _gone_or_not_ours = kill(pid, signal);
    }
}

fn descendants(root: Pid) -> Vec<Pid> {
    let mut children = BTreeMap::<i32, Vec<i32>>::new();
    for (pid, parent) in processes() {
        children.entry(parent).or_default().push(pid);
    }
    let mut found = Vec::new();
    let mut open = vec![root.as_raw()];
    while let Some(parent) = open.pop() {
        for pid in children.remove(&parent).unwrap_or_default() {
            found.push(Pid::from_raw(pid));
            open.push(pid);
        }
    }
    found
}

/// Every process that can be seen, with its parent.
fn processes() -> impl Iterator<Item = (i32, i32)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        Some((
            pid,
            parent_in(&fs::read_to_string(entry.path().join("stat")).ok()?)?,
        ))
    })
}

/// The parent in the text of a `stat` file: the second field after the name, which may hold spaces and brackets.
fn parent_in(stat: &str) -> Option<i32> {
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_is_found_whatever_the_program_is_called() {
        assert_eq!(parent_in("42 (a) b) R) S 7 42 42 0"), Some(7));
        assert_eq!(parent_in("42"), None);
    }

    #[test]
    fn a_grandchild_is_found() {
        use std::io::Read as _;
        let mut shell = std::process::Command::new("/bin/sh")
            .args(["-c", "sleep 600 & echo $!; wait"])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut text = Vec::new();
        let mut byte = [0];
        while shell.stdout.as_mut().unwrap().read(&mut byte).unwrap() == 1 && byte != *b"\n" {
            text.push(byte[0]);
        }
        let grandchild = Pid::from_raw(String::from_utf8(text).unwrap().parse().unwrap());
        let found = descendants(getpid());
        kill(grandchild, Signal::SIGKILL).unwrap();
        shell.wait().unwrap();
        assert!(found.contains(&grandchild), "{found:?}");
    }
}
