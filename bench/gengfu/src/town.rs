//! The servers and the roles of one measurement.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use gengfu_integration_tests::{Api, NatsServer, RedisServer};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::role::{Role, cpu_seconds, rss_mib};

/// Runs at once in the executor: a no-op holds a slot for as long as its claim takes, and slots cost nothing.
const CONCURRENCY: u32 = 256;
/// Looks for something to happen are so far apart.
const LOOK: Duration = Duration::from_millis(50);

/// A town of one process each, with servers of its own. Dropping it ends all of it.
pub(crate) struct Town {
    roles: Vec<Role>,
    folder: TempDir,
    redis: RedisServer,
    nats: NatsServer,
    /// The gateway.
    pub(crate) api: Api,
}

/// CPU seconds by process.
pub(crate) type Cost = Vec<(&'static str, f64)>;

impl Town {
    /// Starts everything but the executor, and declares the type of the load.
    pub(crate) async fn start() -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("gengfu-bench-").tempdir()?;
        let mut town = Self {
            roles: Vec::new(),
            redis: RedisServer::start_new()?,
            nats: NatsServer::start_new()?,
            api: Api::new("http://127.0.0.1:1"),
            folder,
        };
        for name in ["gateway", "scheduler", "dispatcher", "recorder"] {
            town.start_role(name)?;
        }
        let gateway = town.role("gateway")?.address().await?;
        town.api = Api::new(&format!("http://{gateway}"));
        while !town.api.is_ready().await {
            tokio::time::sleep(LOOK).await;
        }
        let types = json!({"types": [{"name": "bench.echo", "handler": "echo"}]});
        let answer = town.api.post("/api/v1/apply", &types).await?;
        if !answer.status.is_success() {
            bail!("apply: {}", answer.text());
        }
        Ok(town)
    }

    pub(crate) fn start_role(&mut self, name: &'static str) -> Result<()> {
        let settings = [
            "listen = \"127.0.0.1:0\"".to_owned(),
            format!("redis.url = \"{}\"", self.redis.url()),
            format!("nats.url = \"{}\"", self.nats.url()),
            format!("executor.concurrency = {CONCURRENCY}"),
            "dispatcher.window = \"20ms\"".to_owned(),
        ];
        self.roles.push(Role::start(name, self.folder.path(), &settings)?);
        Ok(())
    }

    /// Stops a role in order.
    pub(crate) async fn stop_role(&mut self, name: &str) -> Result<()> {
        self.take(name)?.stop().await
    }

    /// Ends a role at once (SIGKILL).
    pub(crate) fn kill_role(&mut self, name: &str) -> Result<()> {
        drop(self.take(name)?);
        Ok(())
    }

    fn take(&mut self, name: &str) -> Result<Role> {
        let at = self
            .roles
            .iter()
            .position(|role| role.name == name)
            .context("no such role")?;
        Ok(self.roles.remove(at))
    }

    pub(crate) fn role(&self, name: &str) -> Result<&Role> {
        self.roles
            .iter()
            .find(|role| role.name == name)
            .context("no such role")
    }

    /// Waits until so many tasks have succeeded since the store was empty.
    pub(crate) async fn wait_for(&self, success: u64, limit: Duration) -> Result<()> {
        let since = tokio::time::Instant::now();
        let mut last = Value::Null;
        while since.elapsed() < limit {
            last = self.stats().await?;
            if done(&last) >= success {
                return Ok(());
            }
            tokio::time::sleep(LOOK).await;
        }
        bail!("{success} tasks should have succeeded within {limit:?}: {last}")
    }

    /// Tasks that were ever made, whatever their status.
    pub(crate) async fn made(&self) -> Result<u64> {
        let stats = self.stats().await?;
        let tasks = stats["tasks"].as_object().context("no counts of tasks")?;
        Ok(tasks.values().filter_map(Value::as_u64).sum())
    }

    async fn stats(&self) -> Result<Value> {
        Ok(self.api.get("/api/v1/stats").await?.json())
    }

    pub(crate) fn redis_pid(&self) -> Result<u32> {
        self.redis.pid().context("redis")
    }

    /// A number of `INFO`.
    pub(crate) fn redis_info(&self, field: &str) -> Result<f64> {
        let info = self.redis.connect()?.call(&["INFO"])?.text();
        let value = info
            .lines()
            .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        Ok(value
            .with_context(|| format!("INFO has no {field}"))?
            .trim()
            .parse()?)
    }

    /// What every process has used until now.
    pub(crate) fn cost(&self) -> Result<Cost> {
        let mut all = vec![
            ("redis-server", cpu_seconds(self.redis_pid()?)?),
            ("nats-server", cpu_seconds(self.nats.pid().context("nats")?)?),
        ];
        for role in &self.roles {
            all.push((role.name, cpu_seconds(role.pid())?));
        }
        Ok(all)
    }

    /// Resident memory of every process now, in MiB.
    pub(crate) fn memory(&self) -> Result<Cost> {
        let mut all = vec![
            ("redis-server", rss_mib(self.redis_pid()?)?),
            ("nats-server", rss_mib(self.nats.pid().context("nats")?)?),
        ];
        for role in &self.roles {
            all.push((role.name, rss_mib(role.pid())?));
        }
        Ok(all)
    }
}

fn done(stats: &Value) -> u64 {
    stats["tasks"]["success"].as_u64().unwrap_or(0)
}
