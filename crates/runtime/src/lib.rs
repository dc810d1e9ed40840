//! What every service process needs: configuration, signals, drain, health endpoints, reconnecting.
//!
//! Nothing here knows of Redis, NATS or tasks: a service brings its loops, and this crate starts and ends them.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod backoff;
pub mod clock;
pub mod config;
pub mod fault_point;
mod health;
mod reconnect;
mod serve;
mod shutdown;
mod tasks;

pub use backoff::Backoff;
pub use config::Config;
pub use health::{Dependency, Health, NotReady, health_router};
pub use reconnect::reconnect;
pub use serve::{ServeError, Serving, serve, serve_health};
pub use shutdown::Shutdown;
pub use tasks::{Drained, Tasks};
