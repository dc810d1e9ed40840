//! The harness keeps its own promises: servers start, keep their data, and leave nothing behind.

mod cluster;
mod gengfu;
mod nats;
mod process;
mod redis;
