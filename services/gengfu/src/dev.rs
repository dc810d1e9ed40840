//! `gengfu dev`: all roles in one process, with a nats-server and a redis-server of its own.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use domain::TypeSpec;
use runtime::config::Sources;
use runtime::{Config, Health, Shutdown, Tasks};
use telemetry::Metrics;

use crate::roles::{self, Role};
use crate::wiring::Wiring;
use crate::{commands, servers, settings, wiring};

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
    let mut flags = BTreeMap::from([("listen".to_owned(), args.listen.clone())]);
    for setting in &args.set {
        let Some((key, value)) = setting.split_once('=') else {
            return settings::refuse(&format!(
                "--set {setting:?} has no '='; write --set executor.concurrency=8"
            ));
        };
        flags.insert(key.to_owned(), value.to_owned());
    }
    let mut config = match Sources::of_process(args.config.as_deref(), flags).load() {
        Ok(loaded) => loaded.config,
        Err(error) => return settings::refuse(&error.to_string()),
    };
    if config.executor.commands.is_empty() {
        config.executor.commands = vec!["*".into()];
    }
    let _telemetry = match settings::telemetry(&config, "dev", "dev") {
        Ok(guard) => guard,
        Err(code) => return code,
    };
    roles::block_on(town(args, config))
}

/// The servers, then the roles, until ctrl-c; then the roles, then the servers end.
async fn town(args: Args, mut config: Config) -> anyhow::Result<()> {
    let shutdown = Shutdown::on_signals()?;
    fs::create_dir_all(&args.data).with_context(|| format!("{} can't be made", args.data.display()))?;
    let data = args.data.canonicalize()?;
    let lock = Lock::take(&data)?;
    let nats = servers::nats(&data).await?;
    let redis = servers::redis(&data).await?;
    config.nats.url = format!("nats://127.0.0.1:{}", nats.port).as_str().into();
    config.redis.url = format!("redis://127.0.0.1:{}", redis.port).as_str().into();
    let ran = roles_until(config, &args, shutdown).await;
    redis.stop().await;
    nats.stop().await;
    drop(lock);
    ran
}

async fn roles_until(config: Config, args: &Args, shutdown: Shutdown) -> anyhow::Result<()> {
    let (health, metrics) = (Health::new(), Metrics::new());
    let grace = config.executor.drain_grace.as_duration() + std::time::Duration::from_secs(15);
    let urls = [
        ("nats", config.nats.url.expose().to_owned()),
        ("redis", config.redis.url.expose().to_owned()),
    ];
    let connected = wiring::connect(config, "dev", health, metrics, shutdown.clone()).await?;
    let Some(wiring) = connected else { return Ok(()) };
    declare(&wiring, &args.file).await?;
    let mut tasks = Tasks::new(shutdown);
    for role in Role::ALL {
        let wiring = wiring.clone();
        let node = wiring.config.node(role.as_str());
        tasks.try_spawn(role.as_str(), async move {
            roles::play(role, wiring, &node)
                .await
                .map_err(|error| format!("{error:#}"))
        });
    }
    let mut out = std::io::stdout();
    let _ = writeln!(
        out,
        "gengfu dev\n  api    http://{}\n  {}   {}\n  {}  {}\n  ctrl-c stops all of it; the data stays in {}",
        args.listen,
        urls[0].0,
        urls[0].1,
        urls[1].0,
        urls[1].1,
        args.data.display()
    );
    let _ = out.flush();
    let drained = tasks.run(grace).await;
    if let Some((role, error)) = drained.failed.first() {
        anyhow::bail!("{role}: {error}");
    }
    Ok(())
}

/// Declares the types of the files that were named, as `gengfu apply` does.
async fn declare(wiring: &Wiring, files: &[PathBuf]) -> anyhow::Result<()> {
    if files.is_empty() {
        return Ok(());
    }
    let mut types = Vec::new();
    for value in commands::apply::read(files)? {
        let spec: TypeSpec = serde_json::from_value(value).context("a type of --file is wrong")?;
        spec.check()
            .map_err(|fault| anyhow::anyhow!("type {}: {fault}", spec.name))?;
        types.push(spec);
    }
    wiring.store.put_types(&types).await?;
    Ok(())
}

/// Keeps a second `dev` off the same data.
struct Lock(#[allow(dead_code)] fs::File);

impl Lock {
    fn take(data: &Path) -> anyhow::Result<Self> {
        let path = data.join("lock");
        let file = fs::File::create(&path).with_context(|| format!("{} can't be written", path.display()))?;
        file.try_lock().with_context(|| {
            format!(
                "{} is in use by another gengfu dev; end it, or give another --data",
                data.display()
            )
        })?;
        Ok(Self(file))
    }
}
