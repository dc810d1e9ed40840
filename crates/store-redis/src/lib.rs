//! The task store on Redis, Valkey or a cluster of them: one script per verb, each on one partition.
//!
//! What a script may do, and in which order, is written in `scripts/prelude.lua`; the keys are in `keys.rs`, the packed
//! record in `header.rs`. Nothing here decides anything: the scripts do, by the table of the domain crate.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod address;
mod audit;
mod batch;
mod connect;
mod control;
mod due;
mod epoch;
mod events;
mod failed;
mod finish;
mod fire;
mod header;
mod keys;
mod link;
mod list;
mod operate;
mod outbox;
mod pack;
mod plan;
mod plan_impl;
mod plan_record;
mod queue;
mod read;
mod record;
mod retain;
mod script;
mod sentinel;
mod store_impl;
mod submit;
mod sweep;
mod sweep_plans;
mod triggers;
mod watch;
mod window;

pub use connect::{Config, RedisStore};
pub use epoch::KnownEpoch;
