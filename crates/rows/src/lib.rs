//! Files of rows, CSV or JSON Lines, read row by row: each a payload that its type takes, or the reason why it can't run.
//!
//! [`Source`] is a text that can be read twice, checked to be in its encoding; [`Reader`] goes through it. What is wrong
//! with a whole file is an [`Error`], what is wrong with one row a [`Fault`]. Memory does not grow with the rows. Nothing
//! here submits anything.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod cells;
mod error;
mod reader;
mod records;
mod source;

pub use error::Error;
pub use reader::{Fault, Reader, Row};
pub use records::RECORD_MAX;
pub use source::{Source, encoding, spool};
