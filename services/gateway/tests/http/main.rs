//! The API over real HTTP, on the store in memory.

#![allow(clippy::unwrap_used)]

mod batches;
mod bulk;
mod explain;
mod operate;
mod schedule_acts;
mod schedule_backlog;
mod schedules;
mod short_way;
mod show;
mod start;
mod submit;
mod town;
mod types;
