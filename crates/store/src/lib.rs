//! The TaskStore trait, its in-memory model and its conformance suite.
