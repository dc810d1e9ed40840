//! Error classes: what kind of failure an attempt met, which decides what follows (DESIGN section 7).

use serde::{Deserialize, Serialize};

/// The kind of an attempt's failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum ErrorClass {
    /// May pass by itself: retried after backoff.
    Transient = 1,
    /// Would fail again in the same way: dead at once.
    Deterministic = 2,
    /// Ran past its time: ended first, then retried.
    Timeout = 3,
    /// The executor vanished: started anew without spending a retry.
    Lost = 4,
}

impl ErrorClass {
    /// Every class, in the order of its number.
    pub const ALL: [Self; 4] = [Self::Transient, Self::Deterministic, Self::Timeout, Self::Lost];

    /// The word used in the API, the logs and the metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Transient => "transient",
            Self::Deterministic => "deterministic",
            Self::Timeout => "timeout",
            Self::Lost => "lost",
        }
    }

    /// The class with this number; 0 and unknown numbers are none.
    #[must_use]
    pub fn from_u8(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|class| *class as u8 == number)
    }
}
