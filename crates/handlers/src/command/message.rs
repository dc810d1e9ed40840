//! What executor and supervisor say to each other over their socket.
//!
//! The executor sends two frames (the program as JSON, the payload as it is) and then orders: a letter, and for
//! [`Order::Renew`] a number in 4 bytes, big end first. The supervisor sends frames that hold a [`Report`] as JSON. A frame is its length in 4 bytes, big end first, and as
//! many bytes. Both ends are the same binary, so there is one version of this.

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};

/// Most bytes of a frame; a payload is bounded long before.
pub(super) const FRAME_BYTES: u32 = 256 * 1024 * 1024;

/// What is to be started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Program {
    /// Absolute path of the file.
    pub(super) path: PathBuf,
    pub(super) args: Vec<String>,
    /// The whole environment.
    pub(super) env: BTreeMap<String, String>,
    pub(super) cwd: Option<PathBuf>,
    /// Milliseconds between TERM and KILL.
    pub(super) grace_ms: u64,
    /// For how many milliseconds the lease of the run certainly lasts; none where it has no end.
    pub(super) lease_ms: Option<u32>,
}

/// What the executor asks for while the program runs. A closed socket means [`Order::Kill`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// TERM, then KILL after the grace.
    End,
    /// KILL now.
    Kill,
    /// The lease was renewed: go on for so many milliseconds, unless there is another word.
    Renew(u32),
}

impl Order {
    pub(super) fn bytes(self) -> Vec<u8> {
        match self {
            Self::End => vec![b'E'],
            Self::Kill => vec![b'K'],
            Self::Renew(ms) => [&[b'R'][..], &ms.to_be_bytes()].concat(),
        }
    }

    /// Takes the first whole order out of what was read.
    pub(super) fn take(read: &mut Vec<u8>) -> Option<Self> {
        let order = match read.first()? {
            b'E' => Self::End,
            b'R' => Self::Renew(u32::from_be_bytes(read.get(1..5)?.try_into().ok()?)),
            // Whatever else it is: nobody who knows this protocol wants the program to go on.
            _ => Self::Kill,
        };
        read.drain(..order.bytes().len());
        Some(order)
    }
}

/// What the supervisor says about the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Report {
    /// It runs, as the leader of the process group with this number.
    Started { group: i32 },
    /// It could not be started.
    NotStarted {
        code: String,
        transient: bool,
        message: String,
    },
    /// It ended by itself, and nothing that it started is left.
    Exited { code: u8 },
    /// A signal ended it, and nothing that it started is left. 0 is a signal without a name.
    Signaled { signal: i32 },
    /// Not sent: the supervisor went away without a word.
    SupervisorLost,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_read_one_by_one_and_half_ones_wait() {
        let orders = [Order::Renew(2_500), Order::End, Order::Renew(7), Order::Kill];
        let mut read: Vec<u8> = orders.iter().flat_map(|order| order.bytes()).collect();
        let last = read.split_off(8);
        assert_eq!(Order::take(&mut read), Some(Order::Renew(2_500)));
        assert_eq!(Order::take(&mut read), Some(Order::End));
        assert_eq!(Order::take(&mut read), None, "half an order");
        read.extend(last);
        assert_eq!(Order::take(&mut read), Some(Order::Renew(7)));
        assert_eq!(Order::take(&mut read), Some(Order::Kill));
        assert!(read.is_empty());
    }
}
