//! One test binary for everything that needs real servers and real processes.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bad_input;
mod batch_cases;
mod batch_then;
mod blocked_handlers;
mod custom_handler;
mod demo;
mod dev;
mod fan_out;
mod harness;
mod kills;
mod schedule_cli;
mod schedules;
mod scheduling;
mod spans;
mod store_lost;
mod tls;
mod town;
