//! When schedules fire: cron, fixed intervals and single instants, in zones whose clocks change.
//!
//! Civil time and zones are kept apart: [`Cron`] is searched in civil time with exact integer arithmetic, and the
//! zone's transitions are walked on top of it, so that gaps and overlaps follow the policy and never the search.
//! [`Timetable::next_after`] is the one function behind preview and firing. Nothing here reads a clock or the host's
//! zone; the only files read are those of the tz database.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod civil;
mod civil_time;
pub mod cron;
mod describe;
mod dst;
pub mod every;
mod fire;
mod frequency;
mod search;
pub mod spec;
mod spread;
pub mod timetable;
mod timing;
pub mod working_days;
pub mod zone;

pub use civil_time::CivilTime;
pub use cron::{Cron, Dialect};
pub use dst::{DstGap, DstOverlap};
pub use every::Every;
pub use fire::{Fire, Marks};
pub use frequency::FiresADay;
pub use jiff::Timestamp;
pub use spec::Spec;
pub use spread::spread_delay_ms;
pub use timetable::{Fires, Options, Timetable};
pub use timing::Timing;
pub use working_days::WorkingDays;
pub use zone::Zone;
