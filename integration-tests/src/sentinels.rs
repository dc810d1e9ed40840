//! A Redis master with a replica, and three sentinels that make the replica master when the master is gone.

use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use crate::error::{Result, io};
use crate::port::Port;
use crate::process::Process;
use crate::program::find;
use crate::redis::RedisServer;

/// The name under which the sentinels know the master.
const MASTER: &str = "town";
const START_LIMIT: Duration = Duration::from_secs(30);

/// Master, replica and sentinels, on free ports.
#[derive(Debug)]
pub struct RedisSentinels {
    sentinels: Vec<(Process, Port)>,
    master: Option<RedisServer>,
    replica: RedisServer,
    _folder: TempDir,
}

impl RedisSentinels {
    /// Starts all of them, and waits until the replica has the master's data and the sentinels know it.
    ///
    /// # Errors
    /// No program, or they do not find each other within 30 s.
    pub fn start_new() -> Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("gengfu-sentinels-")
            .tempdir()
            .map_err(io("creating a folder for the sentinels"))?;
        let master = RedisServer::start_new()?;
        let of_master = format!("127.0.0.1 {}", master.port());
        let replica = RedisServer::start_with(&[("replicaof", &of_master)])?;
        if let Some(output) = replica.output() {
            output.wait_for("MASTER <-> REPLICA sync: Finished with success", START_LIMIT)?;
        }
        let mut sentinels = Vec::new();
        for number in 0..3 {
            let port = Port::reserve()?;
            let data = folder.path().join(number.to_string());
            std::fs::create_dir(&data).map_err(io("creating the folder of a sentinel"))?;
            let file = data.join("sentinel.conf");
            let text = format!(
                "port {}\nbind 127.0.0.1\ndir {data:?}\nsentinel monitor {MASTER} {of_master} 2\n\
                 sentinel down-after-milliseconds {MASTER} 500\nsentinel failover-timeout {MASTER} 3000\n",
                port.number()
            );
            std::fs::write(&file, text).map_err(io("writing the configuration of a sentinel"))?;
            let mut command = Command::new(find("redis-server", "GENGFU_REDIS_SERVER")?);
            command.arg(&file).arg("--sentinel");
            sentinels.push((Process::spawn("sentinel", &mut command)?, port));
        }
        for (sentinel, _) in &sentinels {
            sentinel.output().wait_for("+slave slave", START_LIMIT)?;
            // Of each other they hear through the master.
            sentinel.output().wait_for("+sentinel sentinel", START_LIMIT)?;
        }
        Ok(Self {
            sentinels,
            master: Some(master),
            replica,
            _folder: folder,
        })
    }

    /// The address for clients.
    pub fn url(&self) -> String {
        let hosts: Vec<_> = self
            .sentinels
            .iter()
            .map(|(_, port)| port.address().to_string())
            .collect();
        format!("redis+sentinel://{}/{MASTER}", hosts.join(","))
    }

    /// The replica, which is master once [`RedisSentinels::kill_master`] has had its effect.
    pub const fn replica(&self) -> &RedisServer {
        &self.replica
    }

    /// Ends the master at once (SIGKILL).
    pub fn kill_master(&mut self) {
        self.master = None;
    }
}
