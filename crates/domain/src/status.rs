//! The eight statuses and the sub-states of a task that waits.

use serde::{Deserialize, Serialize};

/// Where a task stands in its life. The numbers are those of the store and the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Status {
    /// Accepted; waits for its time or its turn.
    Pending = 1,
    /// Claimed by one executor, under a lease.
    Running = 2,
    /// Done.
    Success = 3,
    /// An attempt failed; passes at once to retrying or dead.
    Failed = 4,
    /// Waits for its next run time after a failed or timed-out attempt.
    Retrying = 5,
    /// An attempt overran or its lease expired; passes at once to retrying, dead or pending.
    Timeout = 6,
    /// In the dead-letter set, with the reason.
    Dead = 7,
    /// Stopped by a person or by a policy.
    Cancelled = 8,
}

impl Status {
    /// Every status, in the order of its number.
    pub const ALL: [Self; 8] = [
        Self::Pending,
        Self::Running,
        Self::Success,
        Self::Failed,
        Self::Retrying,
        Self::Timeout,
        Self::Dead,
        Self::Cancelled,
    ];
    /// The statuses that an executor can claim.
    pub const CLAIMABLE: [Self; 2] = [Self::Pending, Self::Retrying];
    /// The statuses that only an operator's act leaves.
    pub const TERMINAL: [Self; 3] = [Self::Success, Self::Dead, Self::Cancelled];

    /// The word used in the API, the logs and the metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Success => "success",
            Self::Failed => "failed",
            Self::Retrying => "retrying",
            Self::Timeout => "timeout",
            Self::Dead => "dead",
            Self::Cancelled => "cancelled",
        }
    }

    /// The status with this number.
    #[must_use]
    pub fn from_u8(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|status| *status as u8 == number)
    }

    /// The status with this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == name)
    }

    /// Whether only an operator's act leaves this status (I6).
    #[must_use]
    pub fn is_terminal(self) -> bool {
        Self::TERMINAL.contains(&self)
    }

    /// Whether an executor can claim a task in this status.
    #[must_use]
    pub fn is_claimable(self) -> bool {
        Self::CLAIMABLE.contains(&self)
    }
}

/// What a task that waits waits for. Visible, but no status: it raises no version and makes no event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubState {
    /// Its time has not come.
    Delayed,
    /// It waits for its turn.
    Ready,
    /// A hint is on its way to an executor.
    Dispatched,
    /// An earlier task of its schedule must end first.
    Blocked,
}

impl SubState {
    /// The word used in the API and the metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Delayed => "delayed",
            Self::Ready => "ready",
            Self::Dispatched => "dispatched",
            Self::Blocked => "blocked",
        }
    }
}
