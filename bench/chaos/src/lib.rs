//! What a run of the load does, and the ledger to which it tells it: shared by the program and its executor.

pub mod act;
pub mod ledger;
