//! The pure life cycle of a task: ids, status, the transition table, decisions, retry and lease rules.
//!
//! Nothing here does I/O, reads a clock or knows of tokio, Redis or NATS: inputs are values, effects are values.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod backoff;
mod class;
mod clip;
mod decide;
pub mod duration;
mod event;
mod id;
mod invariants;
mod lease;
mod run_times;
mod schedule;
mod status;
mod task;
mod task_type;
mod tier;
mod transition;

pub use backoff::{Backoff, BackoffError};
pub use class::ErrorClass;
pub use clip::{clip_error, summary};
pub use decide::decide;
pub use event::{Act, Event, Outcome, Rejection};
pub use id::{IdError, PARTITIONS_DEFAULT, Partition, TaskId, key_digest};
pub use invariants::{Violation, check_task, check_timeline};
pub use lease::{DISPATCH_LEASE_MS, Token};
pub use run_times::{RUN_TIMES_MIN, RunTimes, STUCK_MIN_MS, STUCK_TIMES};
pub use schedule::{Overlap, TriggerOutcome, schedule_partition};
pub use status::{Status, SubState};
pub use task::{Stop, Task, TimelineItem};
pub use task_type::{FAN_OUT, HandlerSpec, TypeSpec, valid_pool, valid_type};
pub use tier::Tier;
pub use transition::{Row, TRANSITIONS, Verb, legal, state_machine_markdown};

/// Milliseconds since the Unix epoch, by the store's clock.
pub type Millis = i64;
