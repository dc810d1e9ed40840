//! `gengfu dev`: all roles in one process, with a nats-server and a redis-server of its own.

use std::fs;
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use role::{Process, Wiring};
use runtime::config::Sources;
use runtime::{Config, Tasks};
use serde_json::Value;

use crate::client::{Client, Global, is_passing};
use crate::data_lock::DataLock;
use crate::roles::{self, Role};
use crate::{commands, servers};

/// How long the gateway may take until it applies the files that were named.
const DECLARE_LIMIT: Duration = Duration::from_secs(30);
/// Wait before it is asked again.
const DECLARE_AGAIN: Duration = Duration::from_millis(50);

/// What `dev` takes.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The address of the API.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7420")]
    listen: String,
    /// The folder of all data; it stays.
    #[arg(long, value_name = "DIR", default_value = ".gengfu")]
    data: PathBuf,
    /// Definitions that are applied at start.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    file: Vec<PathBuf>,
    /// The configuration file (TOML).
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// A single setting, such as --set executor.concurrency=8; may be given again.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

pub(crate) fn run(args: Args) -> ExitCode {
    let flags = match role::flags(&args.set, Some(&args.listen)) {
        Ok(flags) => flags,
        Err(sentence) => return role::refuse(&sentence),
    };
    let mut config = match Sources::of_process(args.config.as_deref(), flags).load() {
        Ok(loaded) => loaded.config,
        Err(error) => return role::refuse(&role::chain(&error)),
    };
    if config.executor.commands.is_empty() {
        config.executor.commands = vec!["*".into()];
    }
    if config.executor.files.is_empty() {
        config.executor.files = vec!["*".into()];
    }
    let _telemetry = match role::telemetry(&config, "dev", "dev") {
        Ok(guard) => guard,
        Err(code) => return code,
    };
    role::block_on(town(args, config))
}

/// The servers, then the roles, until ctrl-c; then the roles, then the servers end.
async fn town(args: Args, config: Config) -> anyhow::Result<()> {
    gateway::check(&config)?;
    let mut process = Process::new(config, "dev".into())?;
    fs::create_dir_all(&args.data).with_context(|| format!("{} can't be made", args.data.display()))?;
    let data = args.data.canonicalize()?;
    let lock = DataLock::take(&data).await?;
    let nats = servers::nats(&data, &lock).await?;
    let redis = servers::redis(&data, &lock).await?;
    process.config.nats.url = format!("nats://127.0.0.1:{}", nats.port).as_str().into();
    process.config.redis.url = format!("redis://127.0.0.1:{}", redis.port).as_str().into();
    let ran = roles_until(process, &args).await;
    redis.stop().await;
    nats.stop().await;
    drop(lock);
    ran
}

async fn roles_until(process: Process, args: &Args) -> anyhow::Result<()> {
    let grace = process.config.executor.drain_grace.as_duration() + Duration::from_secs(15);
    let Some(wiring) = process.connect().await? else {
        return Ok(());
    };
    let mut tasks = Tasks::new(wiring.shutdown.clone());
    let address = open_gateway(&wiring, &mut tasks).await?;
    declare(address, &args.file).await?;
    for role in Role::ALL {
        let wiring = wiring.named(role.as_str());
        tasks.try_spawn(role.as_str(), roles::play(role, wiring));
    }
    show(address, &wiring.config, &args.data);
    let drained = tasks.run(grace).await;
    if let Some((role, error)) = drained.failed.first() {
        anyhow::bail!("{role}: {error}");
    }
    Ok(())
}

/// Starts the gateway; where it really listens.
async fn open_gateway(wiring: &Wiring, tasks: &mut Tasks) -> anyhow::Result<SocketAddr> {
    let Wiring {
        config,
        bus,
        metrics,
        health,
        node,
        ..
    } = wiring.named("gateway");
    let gateway = roles::bind(&config, bus, &metrics, &health, &node).await?;
    let (address, store) = (gateway.address(), Arc::clone(&wiring.plans));
    let shutdown = wiring.shutdown.clone();
    tasks.try_spawn("gateway", async move {
        let ran = gateway.run(std::future::ready(Some(store)), shutdown).await;
        ran.map_err(|error| role::chain(&error))
    });
    Ok(address)
}

fn show(address: SocketAddr, config: &Config, data: &Path) {
    let mut out = std::io::stdout();
    let _ = writeln!(
        out,
        "gengfu dev\n  api    http://{address}\n  nats   {}\n  redis  {}\n  ctrl-c stops all of it; the data stays in {}",
        config.nats.url,
        config.redis.url,
        data.display()
    );
    let _ = out.flush();
}

/// Declares what stands in the files that were named, as `gengfu apply` does.
async fn declare(address: SocketAddr, files: &[PathBuf]) -> anyhow::Result<()> {
    if files.is_empty() {
        return Ok(());
    }
    let body = Value::Object(commands::definitions::read(files)?).to_string();
    let client = Client::new(&Global::at(&format!("http://{address}")))?;
    let began = Instant::now();
    loop {
        match client.post("/apply", body.clone().into_bytes()).await {
            Ok(_) => return Ok(()),
            // The gateway is about to have its store.
            Err(error) if is_passing(&error) && began.elapsed() < DECLARE_LIMIT => {
                tokio::time::sleep(DECLARE_AGAIN).await;
            }
            Err(error) => return Err(error.context("--file was not applied")),
        }
    }
}
