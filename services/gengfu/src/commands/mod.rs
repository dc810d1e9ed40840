//! One file for each command.

pub(crate) mod apply;
pub(crate) mod batches;
pub(crate) mod dead;
pub(crate) mod submit;
pub(crate) mod table;
pub(crate) mod task;
pub(crate) mod types;
