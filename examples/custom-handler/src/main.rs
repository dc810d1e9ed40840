//! An executor with its own handler.
fn main() {}
