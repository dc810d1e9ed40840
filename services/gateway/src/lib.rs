//! Owns the face: the HTTP API.
//!
//! One file for each duty; what a request means to a task is decided in the store, never here. The API works while NATS
//! is away, and answers 503 with the reason while the store is.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod admit;
mod api;
mod audit;
mod batches;
mod body;
mod credit;
mod explain;
mod foreign;
mod gate;
mod page;
mod play;
mod refusal;
mod run;
mod schedules;
mod stats;
mod tasks;
mod time;
mod types;

pub use run::{Error, Gateway, LISTEN_DEFAULT, Parts, check, run};
