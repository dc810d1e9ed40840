//! Sockets by their inode, as the kernel lists them for the network of a process.

use std::{
    collections::HashMap,
    fs::File,
    io::Read,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

/// Bytes of a list that are read.
const LIST_BYTES: u64 = 4 << 20;
/// The states of TCP by their number.
const STATES: [&str; 12] = [
    "unknown",
    "established",
    "syn_sent",
    "syn_recv",
    "fin_wait1",
    "fin_wait2",
    "time_wait",
    "close",
    "close_wait",
    "last_ack",
    "listen",
    "closing",
];

/// The sockets of one network.
#[derive(Debug, Default)]
pub(super) struct Sockets(HashMap<String, String>);

impl Sockets {
    /// Those that a process can have.
    pub(super) fn of(pid: i32) -> Self {
        let mut sockets = Self::default();
        for (kind, list) in [("tcp", "tcp"), ("tcp", "tcp6"), ("udp", "udp"), ("udp", "udp6")] {
            let text = read(&format!("/proc/{pid}/net/{list}"));
            let lines = text.lines().skip(1).filter_map(|line| inet(kind, line));
            sockets.0.extend(lines);
        }
        let text = read(&format!("/proc/{pid}/net/unix"));
        sockets.0.extend(text.lines().skip(1).filter_map(unix));
        sockets
    }

    /// What stands behind an inode.
    pub(super) fn describe(&self, inode: &str) -> String {
        self.0
            .get(inode)
            .cloned()
            .unwrap_or_else(|| format!("socket {inode}"))
    }
}

fn read(path: &str) -> String {
    let mut text = String::new();
    if let Ok(file) = File::open(path) {
        // What is cut or no text is as good as not there.
        let _ = file.take(LIST_BYTES).read_to_string(&mut text);
    }
    text
}

/// `sl local_address rem_address st tx:rx tr:tm retrnsmt uid timeout inode …`
fn inet(kind: &str, line: &str) -> Option<(String, String)> {
    let fields: Vec<_> = line.split_ascii_whitespace().collect();
    let (local, remote) = (address(fields.get(1)?)?, address(fields.get(2)?)?);
    let state = usize::from_str_radix(fields.get(3)?, 16).ok()?;
    let state = STATES.get(state).copied().unwrap_or("unknown");
    let text = match (kind, remote.port()) {
        ("tcp", 0) => format!("{kind} {local} {state}"),
        ("tcp", _) => format!("{kind} {local} -> {remote} {state}"),
        (_, 0) => format!("{kind} {local}"),
        (_, _) => format!("{kind} {local} -> {remote}"),
    };
    Some(((*fields.get(9)?).to_owned(), text))
}

/// `0100007F:1F90`: each group of 4 bytes in the order of the host.
fn address(text: &str) -> Option<SocketAddr> {
    let (host, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let mut bytes = Vec::with_capacity(16);
    for group in host.as_bytes().chunks(8) {
        let group = u32::from_str_radix(std::str::from_utf8(group).ok()?, 16).ok()?;
        bytes.extend_from_slice(&group.to_ne_bytes());
    }
    let host = match bytes.len() {
        4 => IpAddr::from(<[u8; 4]>::try_from(bytes.as_slice()).map(Ipv4Addr::from).ok()?),
        16 => IpAddr::from(<[u8; 16]>::try_from(bytes.as_slice()).map(Ipv6Addr::from).ok()?),
        _ => return None,
    };
    Some(SocketAddr::new(host.to_canonical(), port))
}

/// `Num RefCount Protocol Flags Type St Inode Path`
fn unix(line: &str) -> Option<(String, String)> {
    let fields: Vec<_> = line.split_ascii_whitespace().collect();
    let path = fields.get(7).copied().unwrap_or("without a name");
    Some(((*fields.get(6)?).to_owned(), format!("unix {path}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_kernel_are_read() {
        let line = "   1: 0100007F:9C40 0100007F:2328 01 00000000:00000000 00:00000000 00000000  1000        0 4711 1";
        let (inode, text) = inet("tcp", line).unwrap();
        assert_eq!(
            (inode.as_str(), text.as_str()),
            ("4711", "tcp 127.0.0.1:40000 -> 127.0.0.1:9000 established")
        );
        let six = "0: 00000000000000000000000001000000:0050 00000000000000000000000000000000:0000 0A 0:0 0:0 0 0 0 5";
        assert_eq!(inet("tcp", six).unwrap().1, "tcp [::1]:80 listen");
        let named = "0000: 00000002 00000000 00010000 0001 01 22 /run/x.sock";
        assert_eq!(unix(named).unwrap(), ("22".into(), "unix /run/x.sock".into()));
        assert_eq!(inet("tcp", "nonsense"), None);
    }
}
