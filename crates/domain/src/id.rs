//! Task ids: UUIDv7 whose last two bytes carry the partition (DESIGN section 4).

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use thiserror::Error;
use uuid::Uuid;

use crate::Millis;

/// Number of partitions of a store that was never told another.
pub const PARTITIONS_DEFAULT: u16 = 16;

/// The index of a partition, below the store's number of partitions.
pub type Partition = u16;

/// The id of a task, and the trace id of everything that happens to it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TaskId(Uuid);

/// Why a text or bytes are no task id.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("a task id is a UUID like 0192f0c1-2d3e-7abc-8def-0123456789ab, not {0:?}")]
pub struct IdError(String);

impl TaskId {
    /// An id made at `at` of 10 random bytes. The last two carry the partition.
    #[must_use]
    pub fn new(at: Millis, random: [u8; 10]) -> Self {
        let at = u64::try_from(at).unwrap_or(0);
        let mut bytes = [0; 16];
        bytes[..6].copy_from_slice(&at.to_be_bytes()[2..]);
        bytes[6..].copy_from_slice(&random);
        bytes[6] = bytes[6] & 0x0f | 0x70;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        Self(Uuid::from_bytes(bytes))
    }

    /// An id made at `at` in the partition of its idempotency key, so that a key and its task live together.
    #[must_use]
    pub fn keyed(at: Millis, mut random: [u8; 10], task_type: &str, key: &str) -> Self {
        random[8..].copy_from_slice(&key_digest(task_type, key)[..2]);
        Self::new(at, random)
    }

    /// An id made at `at` in the partition of the schedule that fires the task.
    #[must_use]
    pub fn scheduled(at: Millis, random: [u8; 10], schedule: &str) -> Self {
        Self::keyed(at, random, crate::schedule::SCHEDULE, schedule)
    }

    /// The partition of this id among `partitions`.
    #[must_use]
    pub fn partition(self, partitions: u16) -> Partition {
        let bytes = self.0.as_bytes();
        u16::from_be_bytes([bytes[14], bytes[15]]) % partitions.max(1)
    }

    /// The 16 bytes, as they stand in keys and on the wire.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }

    /// The id with exactly these 16 bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(Uuid::from_bytes(bytes))
    }

    /// The id in 16 bytes of a key or a message.
    ///
    /// # Errors
    /// When there are not 16 of them.
    pub fn from_slice(bytes: &[u8]) -> Result<Self, IdError> {
        Uuid::from_slice(bytes)
            .map(Self)
            .map_err(|_| IdError(format!("{} bytes", bytes.len())))
    }

    /// The trace id of this task: the same 128 bits.
    #[must_use]
    pub const fn trace_id(self) -> u128 {
        self.0.as_u128()
    }

    /// Milliseconds since the epoch at which the id was made, by the clock of its maker.
    #[must_use]
    pub fn made_at(self) -> Millis {
        let bytes = self.0.as_bytes();
        bytes[..6]
            .iter()
            .fold(0, |at, byte| at << 8 | Millis::from(*byte))
    }
}

/// SHA-256 of (type, 0, key): names the key in the store and gives its partition.
#[must_use]
pub fn key_digest(task_type: &str, key: &str) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(task_type.as_bytes());
    hash.update([0]);
    hash.update(key.as_bytes());
    hash.finalize().into()
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for TaskId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        Uuid::parse_str(text)
            .map(Self)
            .map_err(|_| IdError(text.chars().take(60).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_and_its_task_share_a_partition_whatever_the_random_bytes() {
        let first = TaskId::keyed(1_700_000_000_000, [1; 10], "room.notify", "k1");
        let second = TaskId::keyed(1_800_000_000_000, [9; 10], "room.notify", "k1");
        assert_eq!(first.partition(16), second.partition(16));
        assert_eq!(first.partition(7), second.partition(7));
        let digest = key_digest("room.notify", "k1");
        assert_eq!(
            first.partition(16),
            u16::from_be_bytes([digest[0], digest[1]]) % 16
        );
    }

    #[test]
    fn it_is_a_version_7_uuid_that_keeps_its_time() {
        let id = TaskId::new(1_700_000_000_123, [0xff; 10]);
        let uuid = Uuid::parse_str(&id.to_string()).unwrap();
        assert_eq!(uuid.get_version_num(), 7);
        assert_eq!(id.made_at(), 1_700_000_000_123);
        assert_eq!(id.to_string().parse::<TaskId>(), Ok(id));
        assert_eq!(id.trace_id(), u128::from_be_bytes(*id.as_bytes()));
    }

    #[test]
    fn what_is_no_id_says_so() {
        assert!("nope".parse::<TaskId>().unwrap_err().to_string().contains("nope"));
        assert!(TaskId::from_slice(&[1, 2]).is_err());
    }
}
