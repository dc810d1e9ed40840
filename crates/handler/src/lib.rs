//! The Rust SDK: what a task handler implements.
