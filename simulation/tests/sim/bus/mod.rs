//! A NATS server in memory: subjects, streams, pull consumers, and what goes wrong between it and its clients.

mod consumer;
mod server;
mod stream;
mod wire;

pub(crate) use server::{Server, Weather};
pub(crate) use wire::Line;
