//! Transitions as they leave the store.

use domain::{ErrorClass, Millis, Partition, Status, TaskId, Tier};

/// One transition, with what its readers need to count and show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskEvent {
    /// The task.
    pub task_id: TaskId,
    /// The transition's number; readers drop repeats by (task, version).
    pub version: u32,
    /// Where the task stood; none for its first.
    pub from: Option<Status>,
    /// Where it stands.
    pub to: Status,
    /// When, by the store's clock.
    pub at: Millis,
    /// The attempt.
    pub attempt: u32,
    /// Who.
    pub actor: String,
    /// Where.
    pub node: String,
    /// Why.
    pub reason: String,
    /// The failure's class.
    pub error_class: Option<ErrorClass>,
    /// The failure's code.
    pub error_code: String,
    /// The task's type.
    pub task_type: String,
    /// Its pool.
    pub pool: String,
    /// Its tier.
    pub tier: Tier,
    /// Its batch.
    pub batch_id: Option<TaskId>,
    /// Retries spent.
    pub retry_count: u16,
    /// Retries it may spend.
    pub max_retry: u16,
    /// On a claim: milliseconds from due to claimed.
    pub wait_ms: i64,
    /// At the end of a run: milliseconds that it took.
    pub run_ms: i64,
    /// On a retry: milliseconds until due.
    pub delay_ms: i64,
    /// Whether its traces are kept.
    pub sampled: bool,
    /// Its schedule.
    pub schedule_id: String,
}

/// The events of one call, waiting in the store until the stream has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxEntry {
    /// The partition.
    pub partition: Partition,
    /// Its place in the outbox.
    pub id: String,
    /// The transitions, in order.
    pub events: Vec<TaskEvent>,
}
