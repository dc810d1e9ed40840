//! Schedules through real processes that are paused, killed at a given point, switched off or away for hours: every
//! planned instant ends as one record, and a fire as one task (I7).

mod absent;
mod calendars;
mod changes;
mod clock;
mod endpoint;
mod killed;
mod ledger;
mod outage;
mod overlaps;
mod paused;
mod webhook;
