//! Schedules without a clock or a store: what people declare, and what becomes of every planned instant.
//!
//! [`Schedule`] is the definition; [`Plan`] is it with its calendar, ready to say what comes next and to decide about
//! what was missed. All instants are milliseconds since the epoch; nothing here reads a clock or the host's zone.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod fan_out;
mod fields;
mod misfire;
mod object;
mod problem;
mod schedule;
mod template;
mod timing;

pub use domain::Overlap;
pub use fan_out::{FanOut, Format, Rows, Source};
pub use misfire::{CATCH_UP_MAX, CATCH_UP_WITHIN_MS, GRACE_MS, Misfire, Policy};
pub use problem::Problem;
pub use schedule::{DEFINITION_BYTES, FAN_OUT_TYPE, Schedule, TaskOptions};
pub use template::{Moment, Template};
