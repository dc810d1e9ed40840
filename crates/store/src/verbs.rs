//! What the verbs take and answer.

use bytes::Bytes;
use domain::{ErrorClass, Millis, Rejection, Status, Stop, Task, TaskId, Tier, Token};

use crate::OutboxEntry;

/// Names one call; a repeat with the same nonce returns the first answer and writes nothing (I12).
pub type Nonce = [u8; 16];

/// Who calls, where, and the reason that a person gave.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// A service, a person, a policy.
    pub actor: String,
    /// The node.
    pub node: String,
    /// The reason, if a person gave one.
    pub reason: String,
}

/// The answer of a verb: one item for each task of the call, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply<T> {
    /// The items.
    pub items: Vec<T>,
    /// The store's clock when it happened.
    pub now: Millis,
    /// What to announce; none where nothing changed.
    pub outbox: Option<OutboxEntry>,
}

/// A submission, checked and given an id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTask {
    /// Its id, keyed where it has an idempotency key.
    pub id: TaskId,
    /// Its type.
    pub task_type: String,
    /// Its pool.
    pub pool: String,
    /// Its tier.
    pub tier: Tier,
    /// Its payload, kept exactly.
    pub payload: Bytes,
    /// SHA-256 of the payload.
    pub payload_sha256: [u8; 32],
    /// Its idempotency key; empty for none.
    pub idempotency_key: String,
    /// Milliseconds that the key lives at least.
    pub key_window_ms: i64,
    /// Milliseconds from now until it is due; 0: now.
    pub delay_ms: i64,
    /// The instant at which it is due, if not by delay; 0: not given.
    pub at: Millis,
    /// Milliseconds from now after which a start is refused; 0: never.
    pub expire_after_ms: i64,
    /// Retries it may spend.
    pub max_retry: u16,
    /// Losses at which it is poison.
    pub max_lost: u16,
    /// Milliseconds that a run may take.
    pub run_timeout_ms: i64,
    /// Its schedule; empty for none.
    pub schedule_id: String,
    /// The instant it was planned for; 0: none.
    pub planned_at: Millis,
    /// Its batch.
    pub batch_id: Option<TaskId>,
    /// Its row.
    pub batch_row: u32,
    /// The task that made it.
    pub parent_id: Option<TaskId>,
    /// Whether its traces are kept.
    pub sampled: bool,
    /// The caller's own trace; empty for none.
    pub trace_link: String,
    /// Why it is dead from the start (`invalid_input`): the error's text. None for a valid one.
    pub rejected: Option<String>,
    /// The short way: if nothing older waits in its queue, count it as dispatched; the caller then sends the hint.
    pub direct: bool,
}

/// What became of a submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admitted {
    /// A new task.
    Created {
        /// Its id.
        id: TaskId,
        /// Its status: pending, or dead where it was rejected.
        status: Status,
        /// What to send for it, if anything.
        hint: Hint,
    },
    /// The key has a task already, with the same payload (I1).
    Existing {
        /// That task.
        id: TaskId,
        /// Its status now, or its last one where it was removed.
        status: Status,
    },
    /// The key has a task already, with another payload (I1).
    Conflict {
        /// That task.
        id: TaskId,
    },
}

/// What a newly ready task needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hint {
    /// Nothing: it is delayed or dead, or others were waiting before it and a hint is on its way.
    None,
    /// A ready hint: its queue was empty.
    Ready,
    /// A work hint: it counts as dispatched.
    Work,
}

/// Asks for tasks of one pool and tier in one partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dispatch {
    /// The pool.
    pub pool: String,
    /// The tier of the queue.
    pub tier: Tier,
    /// How many at most; up to [`crate::BATCH_MAX`].
    pub limit: usize,
    /// By age alone instead of by turns of the types (I8).
    pub oldest: bool,
    /// Types that are thought to wait; the reply names others.
    pub types: Vec<String>,
}

/// Tasks that count as dispatched for [`domain::DISPATCH_LEASE_MS`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dispatched {
    /// The tasks, with type and the instant at which each was due.
    pub tasks: Vec<(TaskId, String, Millis)>,
    /// The types that wait now, for the next call.
    pub types: Vec<String>,
    /// Tasks that still wait in the queues of these types.
    pub left: u64,
    /// The store's clock.
    pub now: Millis,
}

/// One task to claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimItem {
    /// The task.
    pub id: TaskId,
    /// The tier of the hint.
    pub effective_tier: Tier,
    /// 8 random bytes of the fencing token.
    pub random: [u8; 8],
}

/// Claims tasks for an executor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Who claims.
    pub executor_id: String,
    /// Milliseconds of the lease.
    pub lease_ms: i64,
    /// Which tasks.
    pub items: Vec<ClaimItem>,
}

/// What became of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claimed {
    /// The task is this executor's.
    Run {
        /// The record after the claim.
        task: Box<Task>,
        /// The payload.
        payload: Bytes,
    },
    /// It was claimed too late and is dead now: `expired`.
    Expired,
    /// It can't be claimed.
    Refused(Rejection),
}

/// What a heartbeat learns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heartbeat {
    /// The lease goes on.
    Renewed,
    /// The lease goes on, and the run shall be ended.
    Stop(Stop),
    /// The lease is lost: end the run and write nothing.
    Lost(Rejection),
}

/// How a run ended well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finish {
    /// The task.
    pub id: TaskId,
    /// The token of its claim.
    pub token: Token,
    /// What the handler returned.
    pub result: Bytes,
    /// What it printed.
    pub output: Bytes,
}

/// How a run ended badly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The task.
    pub id: TaskId,
    /// The token of its claim.
    pub token: Token,
    /// What kind of error; [`ErrorClass::Timeout`] is an overrun.
    pub class: ErrorClass,
    /// Its short code.
    pub code: String,
    /// Message and cause chain, clipped.
    pub error: String,
    /// What it printed.
    pub output: Bytes,
    /// Milliseconds until the next attempt, if there is one.
    pub delay_ms: i64,
}

/// What an operator or a policy does to a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Stop it.
    Cancel,
    /// Run a dead or cancelled task again.
    Retry {
        /// A new limit of retries.
        max_retry: Option<u16>,
    },
    /// Make it due now, ending its run first.
    Reset {
        /// A new limit of retries.
        max_retry: Option<u16>,
    },
    /// Change fields.
    Set {
        /// A new limit of retries.
        max_retry: Option<u16>,
        /// A new due time.
        next_run_time: Option<Millis>,
        /// A new limit of a run's time, in milliseconds.
        run_timeout_ms: Option<i64>,
    },
}

/// Queues that became non-empty: each needs a ready hint.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Released {
    /// Tasks made ready.
    pub count: usize,
    /// Whether more are due.
    pub more: bool,
    /// (pool, tier, type) of the queues.
    pub queues: Vec<(String, Tier, String)>,
}

/// How long terminal tasks stay. Milliseconds; counts are per partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Age of a success.
    pub success_ms: i64,
    /// Age of a cancelled task.
    pub cancelled_ms: i64,
    /// Age of a dead task.
    pub dead_ms: i64,
    /// Most terminal tasks of a partition that stay.
    pub count: u64,
}

/// What a retention sweep did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Removed {
    /// Tasks removed.
    pub tasks: usize,
    /// Whether it stopped at its batch limit.
    pub more: bool,
}

/// What the recorder's write did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Events counted now.
    pub fresh: usize,
    /// Events that had been counted before.
    pub repeated: usize,
    /// The stream position now kept.
    pub position: u64,
}

/// A verb's result for one task: its new status and version, or the refusal.
pub type Verdict = Result<(Status, u32), Rejection>;
