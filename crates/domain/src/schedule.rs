//! Words of schedules that the store decides by: where one lives, what it does about overlap, how an instant ends.

use serde::{Deserialize, Serialize};

use crate::{Partition, key_digest};

/// The word before a schedule's name in the digest that gives its partition.
pub(crate) const SCHEDULE: &str = "schedule";

/// The partition of a schedule and of every task that it fires: SHA-256("schedule", 0, name).
#[must_use]
pub fn schedule_partition(name: &str, partitions: u16) -> Partition {
    let digest = key_digest(SCHEDULE, name);
    u16::from_be_bytes([digest[0], digest[1]]) % partitions.max(1)
}

/// What a schedule does where an earlier task of it still lives. The numbers are those of the store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Overlap {
    /// Fires all the same.
    #[default]
    Allow = 0,
    /// Skips the instant.
    Skip = 1,
    /// Fires, and the new task waits until the earlier ones have ended.
    Queue = 2,
    /// Stops the earlier ones; the new task waits until they have ended.
    CancelPrevious = 3,
}

impl Overlap {
    /// Every policy, in the order of its number.
    pub const ALL: [Self; 4] = [Self::Allow, Self::Skip, Self::Queue, Self::CancelPrevious];

    /// The word used in definitions and the API.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Skip => "skip",
            Self::Queue => "queue",
            Self::CancelPrevious => "cancel_previous",
        }
    }

    /// The policy with this number.
    #[must_use]
    pub fn from_u8(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|policy| *policy as u8 == number)
    }
}

/// How a planned instant ended (I7). The numbers are those of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum TriggerOutcome {
    /// It became a task.
    Fired = 1,
    /// A policy or a person passed over it.
    Skipped = 2,
    /// Nobody was there in time.
    Missed = 3,
}

impl TriggerOutcome {
    /// Every outcome, in the order of its number.
    pub const ALL: [Self; 3] = [Self::Fired, Self::Skipped, Self::Missed];

    /// The word used in the API and the metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fired => "fired",
            Self::Skipped => "skipped",
            Self::Missed => "missed",
        }
    }

    /// The outcome with this number.
    #[must_use]
    pub fn from_u8(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| *outcome as u8 == number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TaskId;

    #[test]
    fn a_schedule_lives_with_its_tasks() {
        for partitions in [1, 4, 7, 16] {
            let id = TaskId::scheduled(1_700_000_000_000, [9; 10], "nightly");
            assert_eq!(
                id.partition(partitions),
                schedule_partition("nightly", partitions)
            );
        }
        let all: std::collections::BTreeSet<_> = (0..200)
            .map(|n| schedule_partition(&format!("s-{n}"), 16))
            .collect();
        assert_eq!(all.len(), 16, "names spread over the partitions");
    }

    #[test]
    fn numbers_and_words_name_one_thing() {
        for policy in Overlap::ALL {
            assert_eq!(Overlap::from_u8(policy as u8), Some(policy));
            assert_eq!(serde_json::to_value(policy).unwrap(), policy.as_str());
        }
        for outcome in TriggerOutcome::ALL {
            assert_eq!(TriggerOutcome::from_u8(outcome as u8), Some(outcome));
            assert_eq!(serde_json::to_value(outcome).unwrap(), outcome.as_str());
        }
    }
}
