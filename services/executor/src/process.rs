//! An executor as a process of its own: `gengfu executor`, or a binary with handlers of one's own.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use handler::Registry;
use handlers::CommandPolicy;
use role::Wiring;

use crate::{Config, FanOut, FilePolicy, Handlers, Parts, run};

/// How long the last transitions may take to be announced.
const CLOSE_LIMIT: Duration = Duration::from_secs(2);
/// The first argument by which a `command` handler starts this binary as the supervisor of a program.
const SUPERVISE: &str = "supervise";

/// Claims tasks of one pool and runs their handlers.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    role: role::Args,
}

/// The whole `main` of a binary that is an executor: the handlers of `registry` beside the built-in ones, settings
/// as `gengfu executor` takes them (`--config`, `--set`, `--listen`, `--print-config`, the environment), log, traces,
/// health, metrics, SIGTERM and drain. It also answers to `supervise`, which the `command` handler needs.
///
/// Call it before the process has made a runtime or a thread.
#[must_use]
pub fn main(registry: Registry) -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    if arguments
        .next()
        .is_some_and(|first| first == OsStr::new(SUPERVISE))
    {
        return handlers::command::supervise_main(arguments);
    }
    let Arguments { role } = Arguments::parse();
    role::work("executor", &role, |wiring| work(wiring, registry))
}

/// Works on a connected process until its shutdown, then drains.
///
/// # Errors
/// As [`run`].
pub async fn work(wiring: Wiring, registry: Registry) -> Result<(), String> {
    let settings = &wiring.config.executor;
    let limits = &wiring.config.limits;
    let config = Config {
        id: wiring.node.clone(),
        node: wiring.node.clone(),
        pool: settings.pool.clone(),
        concurrency: settings.concurrency,
        lease: settings.lease.as_duration(),
        drain_grace: settings.drain_grace.as_duration(),
        output_bytes: usize::try_from(limits.output_bytes).unwrap_or(usize::MAX),
        result_bytes: usize::try_from(limits.result_bytes).unwrap_or(usize::MAX),
        fan_out: FanOut {
            files: files(&settings.files),
            source_bytes: limits.source_bytes,
            source_rows: limits.source_rows,
            limits: wiring.limits(),
        },
    };
    let announcer = wiring.announcer();
    let parts = Parts {
        store: Arc::clone(&wiring.store),
        open_store: wiring.opener(),
        bus: wiring.bus.clone(),
        announcer: announcer.clone(),
        types: wiring.types.clone(),
        handlers: Arc::new(Handlers::new(registry, options(&wiring.config))),
        metrics: wiring.metrics.clone(),
    };
    let ran = run(config, parts, wiring.shutdown.clone()).await;
    announcer.flush(CLOSE_LIMIT).await;
    ran
}

fn files(paths: &[String]) -> FilePolicy {
    match paths {
        paths if paths.iter().any(|path| path == "*") => FilePolicy::Any,
        paths => FilePolicy::Only(paths.iter().map(PathBuf::from).collect()),
    }
}

fn options(config: &runtime::Config) -> handlers::Options {
    let commands = match config.executor.commands.as_slice() {
        [any] if any == "*" => CommandPolicy::Any,
        programs => CommandPolicy::Only(programs.to_vec()),
    };
    handlers::Options {
        result_bytes: usize::try_from(config.limits.result_bytes).unwrap_or(usize::MAX),
        commands,
        ..handlers::Options::default()
    }
}
