//! The services in one thread, on time and faults that a seed makes (docs/verification.md).

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bus;
mod check;
mod faults;
mod host;
mod mutation;
mod people;
mod play;
mod process;
mod rng;
mod roles;
mod run;
mod seeds;
mod store;
mod store_looks;
mod store_plans;
mod store_tasks;
mod world;
