//! The record of a task, without its payload, result and error text.

use serde::{Deserialize, Serialize};

use crate::{ErrorClass, Millis, Status, TaskId, Tier, Token};

/// What an operator asked of a running task. It takes effect when the run was ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Stop {
    /// End the run, then `cancelled`.
    Cancel = 1,
    /// End the run, then `pending`, due now.
    Reset = 2,
}

impl Stop {
    /// The request with this number; 0 is none.
    #[must_use]
    pub const fn from_u8(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Cancel),
            2 => Some(Self::Reset),
            _ => None,
        }
    }
}

/// A task as the store keeps it. Times are milliseconds since the epoch by the store's clock; 0 is never.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// The task's id and trace id.
    pub id: TaskId,
    /// Where it stands.
    pub status: Status,
    /// Number of transitions so far (I2).
    pub version: u32,
    /// The name of its type.
    pub task_type: String,
    /// The pool of executors that may run it.
    pub pool: String,
    /// Its tier.
    pub tier: Tier,
    /// The tier it was started at: more urgent than `tier` where it had aged.
    pub effective_tier: Tier,
    /// Retries spent.
    pub retry_count: u16,
    /// Retries it may spend.
    pub max_retry: u16,
    /// Number of the newest attempt, from 1; 0 before the first.
    pub attempt: u32,
    /// Executors that vanished under it since `loss_since`.
    pub losses: u16,
    /// Losses at which it is poison.
    pub max_lost: u16,
    /// Since when losses are counted; they are forgotten after 24 h.
    pub loss_since: Millis,
    /// Milliseconds that a run may take.
    pub run_timeout_ms: i64,
    /// When it was accepted.
    pub create_time: Millis,
    /// When its last transition happened.
    pub update_time: Millis,
    /// When it is, or was last, due.
    pub next_run_time: Millis,
    /// A start after this instant is refused: dead, `expired`.
    pub expire_at: Millis,
    /// When it became ready for its newest attempt.
    pub ready_at: Millis,
    /// When a hint to its newest attempt was sent.
    pub dispatched_at: Millis,
    /// When its newest attempt was claimed.
    pub claimed_at: Millis,
    /// When it became terminal.
    pub finished_at: Millis,
    /// When the running attempt must have ended.
    pub deadline: Millis,
    /// The fencing token of the newest claim.
    pub lease_token: Option<Token>,
    /// The executor of the newest claim.
    pub executor_id: String,
    /// The class of the newest failure.
    pub error_class: Option<ErrorClass>,
    /// The code of the newest failure, a short word.
    pub error_code: String,
    /// SHA-256 of the payload, taken at submit.
    pub payload_sha256: [u8; 32],
    /// The key under which it was submitted.
    pub idempotency_key: String,
    /// Until when the key at least lives.
    pub key_until: Millis,
    /// The schedule that fired it.
    pub schedule_id: String,
    /// The instant for which it was fired.
    pub planned_at: Millis,
    /// Its batch.
    pub batch_id: Option<TaskId>,
    /// Its row in the batch: the line of the record's first line.
    pub batch_row: u32,
    /// The task that made it.
    pub parent_id: Option<TaskId>,
    /// Who submitted it.
    pub actor: String,
    /// What was asked of the running attempt.
    pub stop: Option<Stop>,
    /// Whether its traces are kept; decided at admission.
    pub sampled: bool,
    /// The caller's own trace, to link to.
    pub trace_link: String,
}

/// One transition of a task, as its timeline keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimelineItem {
    /// Its number, from 1.
    pub version: u32,
    /// Where the task stood; none for the first.
    pub from: Option<Status>,
    /// Where it stood after.
    pub to: Status,
    /// When, by the store's clock.
    pub at: Millis,
    /// The attempt at that time.
    pub attempt: u32,
    /// Who did it: a service, a person, a policy.
    pub actor: String,
    /// On which node.
    pub node: String,
    /// Why.
    pub reason: String,
    /// The failure's class.
    pub error_class: Option<ErrorClass>,
    /// The failure's code.
    pub error_code: String,
}
