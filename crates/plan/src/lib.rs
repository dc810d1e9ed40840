//! Schedules without a clock or a store: what people declare, and what becomes of every planned instant.
//!
//! [`Schedule`] is the definition; [`Plan`] is it with its calendar, ready to say what comes next and to decide about
//! what was missed. All instants are milliseconds since the epoch; nothing here reads a clock or the host's zone.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod backlog;
mod diff;
mod fan_out;
mod fields;
mod keep;
mod misfire;
mod newest;
mod object;
mod order;
mod plan;
mod problem;
mod record;
mod rows;
mod schedule;
mod settle;
mod slice;
mod template;
mod timing;

pub use backlog::{Backlog, Would};
pub use diff::{DAYS as DIFF_DAYS, Diff, Side, diff};
pub use domain::{Overlap, TriggerOutcome};
pub use fan_out::{FanOut, Source};
pub use keep::Unreadable;
pub use misfire::{CATCH_UP_MAX, CATCH_UP_WITHIN_MS, GRACE_MS, Misfire, Policy};
pub use order::Order;
pub use plan::{Next, Plan};
pub use problem::Problem;
pub use record::{Reason, Record};
pub use rows::{Format, Rows};
pub use schedule::{DEFINITION_BYTES, Schedule, TaskOptions};
pub use settle::{Choice, Settlement};
pub use slice::{Bounds, Pause, Slice, Standing};
pub use template::{Moment, Template};
