//! The pure life cycle of a task: ids, status, transitions, decisions.
