//! The recorder between a store in memory and a real nats-server.

#![allow(clippy::unwrap_used)]

// Every other crate knows it by this name.
extern crate gengfu_recorder as recorder;

mod lost_stream;
mod once;
mod replicas;
mod town;
