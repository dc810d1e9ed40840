//! The town: NATS, Redis, and two replicas of each service (three executors), each with proxies of its own before both.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use gengfu_chaos::act::LEDGER;
use gengfu_integration_tests::{
    Api, Gengfu, GengfuBuilder, NatsServer, Port, Proxy, RedisServer, Reply, Way, target_dir,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::cells::Target;

/// The lease of a claim.
pub(crate) const LEASE: Duration = Duration::from_secs(3);
const SLOTS: u32 = 32;
const PARTITIONS: u16 = 16;
const READY_LIMIT: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// One process, the proxies through which it sees the servers, and where it listens whatever becomes of it.
pub(crate) struct Replica {
    pub(crate) target: Target,
    number: usize,
    /// How often it was started.
    starts: usize,
    port: Port,
    redis: Proxy,
    nats: Proxy,
    pub(crate) process: Gengfu,
}

/// All of it. Dropping it ends every process.
pub(crate) struct Town {
    pub(crate) replicas: Vec<Replica>,
    pub(crate) redis: RedisServer,
    pub(crate) nats: NatsServer,
    folder: TempDir,
}

impl Town {
    /// Starts everything, waits until it is ready, and declares the types of the load.
    pub(crate) async fn start() -> Result<Self> {
        let mut town = Self {
            replicas: Vec::new(),
            redis: RedisServer::start_new()?,
            nats: NatsServer::start_new()?,
            folder: tempfile::Builder::new().prefix("gengfu-chaos-").tempdir()?,
        };
        for target in Target::SERVICES {
            let count = if target == Target::Executor { 3 } else { 2 };
            for number in 1..=count {
                let replica = Replica::start(&town, target, number).await?;
                town.replicas.push(replica);
            }
        }
        town.wait_until_ready().await?;
        let answer = town.apis()[0]
            .post("/api/v1/apply", &types(&town.ledger()))
            .await?;
        ensure!(answer.status.is_success(), "apply: {}", answer.text());
        Ok(town)
    }

    /// The file to which every run appends.
    pub(crate) fn ledger(&self) -> PathBuf {
        self.folder.path().join("ledger")
    }

    /// The gateways.
    pub(crate) fn apis(&self) -> Vec<Api> {
        let gateways = self.replicas.iter().filter(|one| one.target == Target::Gateway);
        gateways.map(Replica::api).collect()
    }

    /// Waits until every replica says that it is ready.
    pub(crate) async fn wait_until_ready(&self) -> Result<()> {
        for replica in &self.replicas {
            let (api, since) = (replica.api(), std::time::Instant::now());
            while !api.is_ready().await {
                ensure!(
                    since.elapsed() < READY_LIMIT,
                    "{} was not ready within {READY_LIMIT:?}; the end of its log:\n{}",
                    replica.name(),
                    replica.process.output().tail(),
                );
                tokio::time::sleep(LOOK_EVERY).await;
            }
        }
        Ok(())
    }

    /// The replicas of a service.
    pub(crate) fn replicas_of(&self, target: Target) -> Vec<usize> {
        let of = |(at, replica): (usize, &Replica)| (replica.target == target).then_some(at);
        self.replicas.iter().enumerate().filter_map(of).collect()
    }

    /// All connections to one server.
    pub(crate) fn set_way_to(&self, server: Target, way: Way) {
        for replica in &self.replicas {
            match server {
                Target::Redis => replica.redis.set(way),
                _ => replica.nats.set(way),
            }
        }
    }

    /// Writes that Redis refused since it was empty, because their lease was lost.
    pub(crate) fn refused(&self) -> Result<u64> {
        let mut redis = self.redis.connect()?;
        let mut refused = 0;
        for partition in 0..PARTITIONS {
            let key = format!("{{gf:{partition:02}}}:m");
            match redis.call(&["HGET", &key, "refused"])? {
                Reply::Null => {}
                other => {
                    refused += other
                        .text()
                        .parse::<u64>()
                        .context("the count of refused writes")?
                }
            }
        }
        Ok(refused)
    }
}

impl Replica {
    async fn start(town: &Town, target: Target, number: usize) -> Result<Self> {
        let (redis, nats) = (
            Proxy::start(town.redis.port()).await?,
            Proxy::start(town.nats.port()).await?,
        );
        let port = Port::reserve()?;
        let process = build(
            target,
            &format!("{}-{number}-1", target.name()),
            &port,
            &redis,
            &nats,
            &town.ledger(),
        )
        .start()?;
        Ok(Self {
            target,
            number,
            starts: 1,
            port,
            redis,
            nats,
            process,
        })
    }

    /// Starts it anew, once its process has ended.
    pub(crate) fn start_again(&mut self, ledger: &Path) -> Result<()> {
        self.starts += 1;
        self.process = build(
            self.target,
            &self.name(),
            &self.port,
            &self.redis,
            &self.nats,
            ledger,
        )
        .start()?;
        Ok(())
    }

    /// Its name in timelines where it is an executor, another one after each start.
    pub(crate) fn name(&self) -> String {
        format!("{}-{}-{}", self.target.name(), self.number, self.starts)
    }

    pub(crate) fn api(&self) -> Api {
        Api::new(&format!("http://{}", self.port.address()))
    }

    pub(crate) fn set_way(&self, way: Way) {
        self.redis.set(way);
        self.nats.set(way);
    }
}

fn build(
    target: Target,
    name: &str,
    port: &Port,
    redis: &Proxy,
    nats: &Proxy,
    ledger: &Path,
) -> GengfuBuilder {
    let builder = Gengfu::role(
        target.name(),
        &format!("redis://{}", redis.address()),
        &format!("nats://{}", nats.address()),
    )
    .set_text("listen", &port.address().to_string())
    .set("redis.partitions", PARTITIONS)
    .set_text("executor.lease", &format!("{}s", LEASE.as_secs()));
    if target != Target::Executor {
        return builder;
    }
    builder
        .program(target_dir().join("gengfu-chaos-executor"))
        .env(LEDGER, &ledger.to_string_lossy())
        .set_text("executor.id", name)
        .set("executor.concurrency", SLOTS)
        .set("executor.commands", "[\"*\"]")
        .set_text("executor.drain_grace", "1s")
}

/// The types of the load. Executors vanish far more often here than anywhere else, so that only many losses are poison.
fn types(ledger: &Path) -> Value {
    let program = std::env::current_exe().unwrap_or_default();
    let kind = |name: &str, more: Value| {
        let mut kind = json!({
            "name": name, "handler": "chaos", "max_lost": 100, "max_retry": 20, "backoff": ["200ms"], "run_timeout": "60s",
        });
        if let (Some(kind), Value::Object(more)) = (kind.as_object_mut(), more) {
            kind.extend(more);
        }
        kind
    };
    let command = |args: Value, run_timeout: &str, max_retry: u16| {
        json!({
            "handler": "command", "run_timeout": run_timeout, "max_retry": max_retry,
            "command": {"program": "sh", "args": args, "env": {LEDGER: ledger}, "grace": "200ms"},
        })
    };
    let stubborn = "trap '' TERM; sleep 1000 & \"$0\" act";
    json!({ "types": [
        kind("quick", json!({})),
        kind("slow", json!({})),
        kind("transient", json!({})),
        kind("deterministic", json!({})),
        kind("panic", json!({})),
        kind("too-slow", json!({"run_timeout": "1s", "max_retry": 1})),
        kind("command", command(json!(["-c", "exec \"$0\" act", program]), "60s", 20)),
        kind("too-slow-command", command(json!(["-c", stubborn, program]), "1s", 1)),
    ]})
}
