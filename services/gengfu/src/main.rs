//! The gengfu binary.
fn main() {}
