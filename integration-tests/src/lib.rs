//! Real servers, real processes, real kills: what the tests of every crate start.
//!
//! Each server has a free port and a data folder of its own, both gone when it is dropped; each can be stopped,
//! killed and started again on the same port and data. The library uses no crate of the workspace, so that any of
//! them may have it as a dev-dependency.

mod api;
mod certificates;
mod cli;
mod cluster;
mod error;
mod eventually;
mod gengfu;
mod nats;
mod nats_wire;
mod output;
mod port;
mod process;
mod program;
mod proxy;
mod redis;
mod resp;
mod sentinels;

pub use api::{Answer, Api};
pub use certificates::Certificates;
pub use cli::{Cli, CliOutput};
pub use cluster::RedisCluster;
pub use error::{Error, Result};
pub use eventually::{PATIENCE, Poll, Settled};
pub use gengfu::{Gengfu, GengfuBuilder};
pub use nats::NatsServer;
pub use output::Output;
pub use port::Port;
pub use process::{Process, Signal, freeze};
pub use program::{find, gengfu_binary, target_dir};
pub use proxy::{Proxy, Way};
pub use redis::{RedisServer, ValkeyServer};
pub use resp::{Reply, Resp};
pub use sentinels::RedisSentinels;
