//! What executor and supervisor say to each other over their socket.
//!
//! The executor sends two frames (the program as JSON, the payload as it is) and then orders of one byte. The
//! supervisor sends frames that hold a [`Report`] as JSON. A frame is its length in 4 bytes, big end first, and as
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
}

/// What the executor asks for while the program runs. A closed socket means [`Order::Kill`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// TERM, then KILL after the grace.
    End,
    /// KILL now.
    Kill,
}

impl Order {
    pub(super) const fn byte(self) -> u8 {
        match self {
            Self::End => b'E',
            Self::Kill => b'K',
        }
    }

    pub(super) const fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            b'E' => Some(Self::End),
            b'K' => Some(Self::Kill),
            _ => None,
        }
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
