//! The dispatcher between a store in memory and a real nats-server.

#![allow(clippy::unwrap_used)]

// Every other crate knows it by this name.
extern crate gengfu_dispatcher as dispatcher;

mod refused;
mod town;
