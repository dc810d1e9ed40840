//! Free ports that stay free: no other test process takes one while its server is stopped.

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use crate::error::{Error, Result, io};

/// Below the range from which systems draw ports for outgoing connections, so that none of those takes one.
const RANGE: std::ops::Range<u16> = 18_000..32_000;
const TRIES: usize = 200;

/// A port of the loopback interface, reserved until this is dropped.
#[derive(Debug)]
pub struct Port {
    number: u16,
    /// Held as a lock between test processes; the file itself stays, empty.
    _lock: File,
}

impl Port {
    /// Reserves a port on which nobody listens.
    pub fn reserve() -> Result<Self> {
        let folder = std::env::temp_dir().join("gengfu-test-ports");
        std::fs::create_dir_all(&folder).map_err(io("creating the folder of port locks"))?;
        let random = RandomState::new();
        for attempt in 0..TRIES {
            let spread = random.hash_one(attempt) % u64::from(RANGE.end - RANGE.start);
            let number = RANGE.start + u16::try_from(spread).unwrap_or(0);
            let lock = File::options()
                .create(true)
                .truncate(false)
                .write(true)
                .open(folder.join(number.to_string()))
                .map_err(io("opening a port lock"))?;
            if lock.try_lock().is_ok() && is_free(number) {
                return Ok(Self { number, _lock: lock });
            }
        }
        Err(Error::NoPort(TRIES))
    }

    /// The port's number.
    pub fn number(&self) -> u16 {
        self.number
    }

    /// The port on 127.0.0.1.
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.number))
    }
}

fn is_free(number: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, number)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reserved_port_is_given_once() {
        let ports: Vec<Port> = (0..64).map(|_| Port::reserve().unwrap()).collect();
        let numbers: std::collections::BTreeSet<u16> = ports.iter().map(Port::number).collect();
        assert_eq!(numbers.len(), ports.len());
    }
}
