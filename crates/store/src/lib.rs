//! The seam between the services and the authoritative task state.
//!
//! [`TaskStore`] is what every store offers; each verb works on a bounded batch of tasks of one partition.
//! A refusal of one task is a value in the reply; an [`Error`] means that the whole call did nothing, or that no
//! answer came, and the caller plays it again with the same [`Nonce`] (I12).
//! [`PlanStore`] adds the plan table, the ledger of schedules, and [`WatchStore`] what says why a task stands where it
//! stands. [`Model`] is one in memory; with the feature `suite`, `task_store_suite!` checks any store.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod audit;
mod batch;
mod calls;
mod epoch;
mod error;
mod event;
mod model;
mod plan;
pub mod plan_check;
mod plan_triggers;
mod plan_verbs;
pub mod playing;
mod read;
#[cfg(any(test, feature = "suite"))]
pub mod suite;
mod trait_;
mod verbs;
mod watch;

pub use audit::{AUDIT_COUNT_MAX, AUDIT_PAGE, AuditPage, AuditStore, AuditedTask, Place, Tally};
pub use batch::{BATCH_KEEP_MS, BatchCounts, EndedBatch, EndedBatches, Seal, Sealed};
pub use calls::{AdmitCall, admit_calls};
pub use epoch::{Epoch, Standing};
pub use error::Error;
pub use event::{OutboxEntry, TaskEvent};
pub use model::{Clock, Model};
pub use plan::PlanStore;
pub use plan_triggers::{Fired, Firing, NewTrigger, Trigger, TriggerRange, Triggered, Triggers};
pub use plan_verbs::{
    Calendar, DueSchedules, LastFired, LastTrigger, LiveTask, Pause, Plan, PlanRefusal, PlanState,
    PlanVerdict, Put, PutHow, PutSchedule, ScheduleView, Seen,
};
pub use read::{Listed, Page, PartitionStats, QueueStats, TaskFilter, TaskView};
pub use trait_::TaskStore;
pub use verbs::{
    Admitted, Claim, ClaimItem, Claimed, Dispatch, Dispatched, Failure, Finish, Heartbeat, Hint, NewTask,
    Nonce, Operation, Origin, Recorded, Released, Removed, Reply, Retention, Verdict,
};
pub use watch::{LeaseView, RunningTasks, TypePause, WatchStore};

/// Most tasks in one call of a verb.
pub const BATCH_MAX: usize = 64;
/// Transitions kept in a timeline; older ones live in the archive.
pub const TIMELINE_MAX: usize = 64;
/// Most tasks of a schedule that are kept as live; beyond it nothing more is queued behind them.
pub const LIVE_MAX: usize = 256;
/// Most records of instants kept of one schedule.
pub const TRIGGERS_MAX: usize = 10_000;
/// Most bytes of a decision that a schedule keeps.
pub const DECISION_BYTES: usize = 1_024;
/// How far the anchor of a schedule may be from the store's clock, in milliseconds.
pub const CLOCK_TOLERANCE_MS: i64 = 60_000;
