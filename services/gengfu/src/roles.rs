//! The roles: read the configuration, connect, run, drain.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use gateway::Gateway;
use handler::{Registry, TaskHandler};
use handlers::CommandPolicy;
use messaging::Bus;
use runtime::{Config, Health, Shutdown};
use store::Retention;
use telemetry::Metrics;

use crate::wiring::Wiring;
use crate::{settings, wiring};

/// How long the last answers of the HTTP server may take.
const CLOSE_LIMIT: Duration = Duration::from_secs(2);

/// What a process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Scheduler,
    Dispatcher,
    Executor,
    Recorder,
    Gateway,
}

impl Role {
    pub(crate) const ALL: [Self; 5] = [
        Self::Scheduler,
        Self::Dispatcher,
        Self::Executor,
        Self::Recorder,
        Self::Gateway,
    ];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Scheduler => "scheduler",
            Self::Dispatcher => "dispatcher",
            Self::Executor => "executor",
            Self::Recorder => "recorder",
            Self::Gateway => "gateway",
        }
    }
}

/// Runs one role until it is told to stop.
pub(crate) fn run(role: Role, args: settings::Args) -> ExitCode {
    let (config, warnings) = match settings::load(&args) {
        Ok(loaded) => loaded,
        Err(code) => return code,
    };
    let node = config.node(role.as_str());
    let _telemetry = match settings::telemetry(&config, role.as_str(), &node) {
        Ok(guard) => guard,
        Err(code) => return code,
    };
    warnings
        .iter()
        .for_each(|warning| tracing::warn!(warning, "configuration"));
    block_on(serve(role, config, node))
}

/// Runs a role's or the town's future on a runtime of its own.
pub(crate) fn block_on(future: impl Future<Output = anyhow::Result<()>>) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return settings::refuse(&format!("no runtime: {error}")),
    };
    match runtime.block_on(future) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(error = format!("{error:#}"), "stopped");
            settings::refuse(&format!("{error:#}"))
        }
    }
}

async fn serve(role: Role, config: Config, node: String) -> anyhow::Result<()> {
    let (health, metrics, shutdown) = (Health::new(), Metrics::new(), Shutdown::on_signals()?);
    let listen = config.listen_or("127.0.0.1:0").to_owned();
    // A role that waits for its store answers that it does; the gateway's own server takes the address over then.
    let server = if role == Role::Gateway {
        None
    } else {
        let shown = metrics.clone();
        Some(runtime::serve_health(&listen, health.clone(), move || shown.render()).await?)
    };
    if let Some(wiring) = wiring::connect(config, &node, health, metrics, shutdown).await? {
        play(role, wiring, &node).await?;
    }
    if let Some(server) = server {
        server.stop(CLOSE_LIMIT).await;
    }
    Ok(())
}

/// Plays a role until shutdown.
pub(crate) async fn play(role: Role, wiring: Wiring, node: &str) -> anyhow::Result<()> {
    match role {
        Role::Dispatcher => dispatch(wiring, node).await,
        Role::Executor => execute(wiring, node).await?,
        Role::Scheduler => schedule(wiring, node).await,
        Role::Recorder => record(wiring, node).await,
        Role::Gateway => {
            let gateway = bind(
                &wiring.config,
                wiring.bus.clone(),
                wiring.metrics.clone(),
                wiring.health.clone(),
                node,
            )
            .await?;
            let store = Arc::clone(&wiring.store);
            gateway
                .run(std::future::ready(Some(store)), wiring.shutdown.clone())
                .await?;
        }
    }
    Ok(())
}

async fn bind(
    config: &Config,
    bus: Bus,
    metrics: Metrics,
    health: Health,
    node: &str,
) -> Result<Gateway, gateway::Error> {
    Gateway::bind(
        config,
        gateway::Parts {
            bus,
            metrics,
            health,
            node: node.to_owned(),
        },
    )
    .await
}

async fn schedule(wiring: Wiring, node: &str) {
    let settings = &wiring.config.retention;
    let ms = |span: runtime::config::HumanDuration| {
        i64::try_from(span.as_duration().as_millis()).unwrap_or(i64::MAX)
    };
    let retention = Retention {
        success_ms: ms(settings.success),
        cancelled_ms: ms(settings.cancelled),
        dead_ms: ms(settings.dead),
        count: settings
            .success_max
            .saturating_add(settings.dead_max)
            .saturating_add(settings.cancelled_max),
    };
    let config = scheduler::Config::new(node, wiring.config.executor.lease.as_duration(), retention);
    let announcer = wiring.announcer(node);
    let parts = scheduler::Parts {
        store: Arc::clone(&wiring.store),
        bus: wiring.bus.clone(),
        announcer: announcer.clone(),
        metrics: wiring.metrics.clone(),
        health: wiring.health.clone(),
    };
    scheduler::run(config, parts, wiring.shutdown.clone()).await;
    announcer.flush(CLOSE_LIMIT).await;
}

async fn record(wiring: Wiring, node: &str) {
    let announcer = wiring.announcer(node);
    let parts = recorder::Parts {
        store: Arc::clone(&wiring.store),
        bus: wiring.bus.clone(),
        announcer: announcer.clone(),
        archive: Arc::new(recorder::Counts::new(Arc::clone(&wiring.store))),
        health: wiring.health.clone(),
    };
    recorder::run(recorder::Config::new(node), parts, wiring.shutdown.clone()).await;
    announcer.flush(CLOSE_LIMIT).await;
}

async fn dispatch(wiring: Wiring, node: &str) {
    let config = dispatcher::Config {
        id: node.to_owned(),
        node: node.to_owned(),
        window: wiring.config.dispatcher.window.as_duration(),
        limits: wiring.limits(),
    };
    let parts = dispatcher::Parts {
        store: Arc::clone(&wiring.store),
        bus: wiring.bus.clone(),
        announcer: wiring.announcer(node),
        types: wiring.types.clone(),
        metrics: wiring.metrics.clone(),
    };
    let announcer = parts.announcer.clone();
    dispatcher::run(config, parts, wiring.shutdown.clone()).await;
    announcer.flush(CLOSE_LIMIT).await;
}

async fn execute(wiring: Wiring, node: &str) -> anyhow::Result<()> {
    let settings = &wiring.config.executor;
    let config = executor::Config {
        id: node.to_owned(),
        node: node.to_owned(),
        pool: settings.pool.clone(),
        concurrency: settings.concurrency,
        lease: settings.lease.as_duration(),
        drain_grace: settings.drain_grace.as_duration(),
        output_bytes: usize::try_from(wiring.config.limits.output_bytes).unwrap_or(usize::MAX),
        result_bytes: usize::try_from(wiring.config.limits.result_bytes).unwrap_or(usize::MAX),
    };
    let parts = executor::Parts {
        store: Arc::clone(&wiring.store),
        open_store: wiring.opener(),
        bus: wiring.bus.clone(),
        announcer: wiring.announcer(node),
        types: wiring.types.clone(),
        handlers: handlers_of(&wiring.config, Registry::new()),
        metrics: wiring.metrics.clone(),
    };
    let announcer = parts.announcer.clone();
    let ran = executor::run(config, parts, wiring.shutdown.clone()).await;
    announcer.flush(CLOSE_LIMIT).await;
    ran.map_err(anyhow::Error::msg)
}

/// The handlers of a type: what the SDK registered, then the built-in ones.
fn handlers_of(config: &Config, registry: Registry) -> executor::HandlerSource {
    let commands = match config.executor.commands.as_slice() {
        [any] if any == "*" => CommandPolicy::Any,
        programs => CommandPolicy::Only(programs.to_vec()),
    };
    let options = handlers::Options {
        result_bytes: usize::try_from(config.limits.result_bytes).unwrap_or(usize::MAX),
        commands,
        ..handlers::Options::default()
    };
    Arc::new(
        move |spec: &domain::TypeSpec| -> Result<Arc<dyn TaskHandler>, String> {
            if let Some(handler) = registry.get(&spec.handler) {
                return Ok(handler);
            }
            handlers::build(&spec.handler_spec(), &options).map_err(|error| error.to_string())
        },
    )
}
