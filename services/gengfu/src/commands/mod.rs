//! One file for each command.

pub(crate) mod apply;
pub(crate) mod audit;
pub(crate) mod batches;
pub(crate) mod dead;
pub(crate) mod definitions;
mod explain;
mod instant;
mod pages;
mod payload;
pub(crate) mod schedule;
pub(crate) mod submit;
mod table;
pub(crate) mod task;
pub(crate) mod types;
