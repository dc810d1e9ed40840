//! What is known of a batch: its counts, how many rows it has in all, and what follows it.

use std::collections::BTreeMap;

use domain::{Status, TaskId};

use crate::Error;

/// For how long after its last task has left a batch's counts stay, in milliseconds.
pub const BATCH_KEEP_MS: i64 = 24 * 3_600_000;

/// Tasks of a batch by status.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BatchCounts {
    /// Tasks in all.
    pub total: u64,
    /// By status; absent is 0.
    pub by_status: BTreeMap<&'static str, u64>,
}

impl BatchCounts {
    /// Whether every task is terminal.
    #[must_use]
    pub fn finished(&self) -> bool {
        self.ended() == self.total
    }

    /// Tasks that are terminal.
    #[must_use]
    pub fn ended(&self) -> u64 {
        Status::TERMINAL
            .iter()
            .filter_map(|status| self.by_status.get(status.as_str()))
            .sum()
    }

    /// Adds tasks of a status.
    pub fn add(&mut self, status: Status, tasks: u64) {
        self.total += tasks;
        *self.by_status.entry(status.as_str()).or_default() += tasks;
    }
}

/// What is said of a batch once all of its rows were handed in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seal {
    /// Rows in all, those that are dead from the start too.
    pub total: u64,
    /// The type of the one task that follows when all rows have ended, if one does.
    pub then: Option<String>,
    /// The task that made the batch, if one did; it will have made the one that follows too.
    pub parent_id: Option<TaskId>,
}

impl Seal {
    /// Refuses a type that can't be one: nothing could ever follow.
    ///
    /// # Errors
    /// [`Error::Corrupt`]; whoever takes a name from people checks it before.
    pub fn check(&self) -> Result<(), Error> {
        match &self.then {
            Some(name) if !domain::valid_type(name) => Err(Error::Corrupt(format!(
                "{name:?} can't follow a batch, it is no type"
            ))),
            Some(_) | None => Ok(()),
        }
    }
}

/// A seal that stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sealed {
    /// What was said first.
    pub seal: Seal,
    /// Who said it.
    pub actor: String,
    /// The task that followed, once it did.
    pub followed_by: Option<TaskId>,
}

impl Sealed {
    /// Whether something is still to follow.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.seal.then.is_some() && self.followed_by.is_none()
    }
}

/// A batch whose rows have all ended, and which nothing followed yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedBatch {
    /// The batch.
    pub batch: TaskId,
    /// What was said of it.
    pub sealed: Sealed,
    /// How its rows ended.
    pub counts: BatchCounts,
}

/// A part of the sealed batches of a partition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EndedBatches {
    /// Those that have ended.
    pub ended: Vec<EndedBatch>,
    /// The last one that was looked at; none at the end.
    pub next: Option<TaskId>,
}
