//! What the store shows.

use std::collections::BTreeMap;

use bytes::Bytes;
use domain::{Millis, Status, SubState, Task, TaskId, Tier};

/// A task with its texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskView {
    /// The record.
    pub task: Task,
    /// What a waiting task waits for.
    pub sub_state: Option<SubState>,
    /// The payload.
    pub payload: Bytes,
    /// The result; empty if none.
    pub result: Bytes,
    /// The newest error's text; empty if none.
    pub error: String,
}

/// Which tasks to list, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskFilter {
    /// Only this type.
    pub task_type: Option<String>,
    /// Only this status.
    pub status: Option<Status>,
    /// Only this tier.
    pub tier: Option<Tier>,
    /// Only this batch.
    pub batch: Option<TaskId>,
    /// Only this schedule.
    pub schedule: Option<String>,
    /// Only this error code.
    pub error_code: Option<String>,
    /// Accepted at or after.
    pub since: Option<Millis>,
    /// Accepted before.
    pub until: Option<Millis>,
}

/// Where to go on, opaque.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// At most so many items, up to 1,000.
    pub limit: usize,
    /// The `next` of the page before.
    pub cursor: Option<String>,
}

/// A page of tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listed {
    /// The tasks, with sub-state, payload, result and error.
    pub items: Vec<TaskView>,
    /// Where to go on; none at the end. A page may be short, even empty, and still have a next.
    pub next: Option<String>,
}

/// The ready queue of one pool and tier in one partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueStats {
    /// The pool.
    pub pool: String,
    /// The tier.
    pub tier: Tier,
    /// Tasks waiting.
    pub ready: u64,
    /// When the oldest of them was due; 0 if none waits.
    pub oldest: Millis,
}

/// Counts of one partition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PartitionStats {
    /// Tasks by type and status.
    pub by_type: BTreeMap<(String, Status), u64>,
    /// Tasks that wait for their time.
    pub delayed: u64,
    /// Tasks whose hint is on its way.
    pub dispatched: u64,
    /// Tasks under a lease.
    pub running: u64,
    /// The most attempts that one task of a type needed, as far as it was recorded, of this day and the day before (UTC).
    pub attempts_max: BTreeMap<String, u32>,
    /// Entries in the outbox.
    pub outbox: u64,
    /// The store's clock.
    pub now: Millis,
}
