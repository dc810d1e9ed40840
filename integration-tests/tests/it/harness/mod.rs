//! The harness keeps its own promises: servers start, keep their data, and leave nothing behind.

mod cluster;
mod nats;
mod nats_wire;
mod process;
mod redis;
