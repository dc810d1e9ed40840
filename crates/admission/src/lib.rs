//! Admission: turns submissions into tasks, or says what is wrong with them.
//!
//! Every way in (HTTP, NATS) checks by the same rules here; nothing here talks to a client or writes to the store.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod check;
mod known_type;
mod planned;
mod problem;
mod refuse;
mod schema;
mod types;

pub use check::{Limits, Submission, check};
pub use known_type::{BadSchema, KnownType};
pub use planned::{Planned, planned, standing, trigger};
pub use problem::Problem;
pub use refuse::refuse;
pub use schema::Fault;
pub use types::{TypeTable, Types};
