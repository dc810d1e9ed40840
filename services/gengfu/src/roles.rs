//! The roles: what each is given of the settings, and when it ends.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use gateway::Gateway;
use handler::Registry;
use messaging::Bus;
use role::{Process, Wiring};
use runtime::{Config, Health};
use store::Retention;
use telemetry::Metrics;

/// How long the last transitions may take to be announced.
const CLOSE_LIMIT: Duration = Duration::from_secs(2);

/// A role that works on tasks; the gateway is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Scheduler,
    Dispatcher,
    Executor,
    Recorder,
}

impl Role {
    pub(crate) const ALL: [Self; 4] = [Self::Scheduler, Self::Dispatcher, Self::Executor, Self::Recorder];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Scheduler => "scheduler",
            Self::Dispatcher => "dispatcher",
            Self::Executor => "executor",
            Self::Recorder => "recorder",
        }
    }
}

/// Runs one role until it is told to stop.
pub(crate) fn run(role: Role, args: &role::Args) -> ExitCode {
    role::work(role.as_str(), args, |wiring| play(role, wiring))
}

/// Runs the gateway until it is told to stop. It answers from the first moment, with 503 until the store is there.
pub(crate) fn gateway(args: &role::Args) -> ExitCode {
    role::run("gateway", args, serve)
}

async fn serve(process: Process) -> anyhow::Result<()> {
    gateway::check(&process.config)?;
    let (bus, node) = (process.bus().await?, &process.node);
    let gateway = bind(
        &process.config,
        bus.clone(),
        &process.metrics,
        &process.health,
        node,
    )
    .await?;
    let mut unusable = None;
    let store = async {
        let opened = process.store(&bus).await;
        opened.unwrap_or_else(|error| {
            unusable = Some(error);
            None
        })
    };
    gateway.run(store, process.shutdown.clone()).await?;
    unusable.map_or(Ok(()), |error| Err(error.into()))
}

/// Listens where the settings say.
pub(crate) async fn bind(
    config: &Config,
    bus: Bus,
    metrics: &Metrics,
    health: &Health,
    node: &str,
) -> Result<Gateway, gateway::Error> {
    let parts = gateway::Parts {
        bus,
        metrics: metrics.clone(),
        health: health.clone(),
        node: node.to_owned(),
    };
    Gateway::bind(config, parts).await
}

/// Plays a role until shutdown.
pub(crate) async fn play(role: Role, wiring: Wiring) -> Result<(), String> {
    match role {
        Role::Dispatcher => dispatch(wiring).await,
        Role::Executor => executor::work(wiring, Registry::new()).await?,
        Role::Scheduler => schedule(wiring).await,
        Role::Recorder => record(wiring).await,
    }
    Ok(())
}

async fn schedule(wiring: Wiring) {
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
    let mut config = scheduler::Config::new(
        &wiring.node,
        wiring.config.executor.lease.as_duration(),
        retention,
    );
    let announcer = wiring.announcer();
    config.limits = wiring.limits();
    config.triggers_age = settings.triggers.as_duration();
    config.absence_grace = wiring.config.scheduler.absence_grace.as_duration();
    config.webhook = scheduler::Webhook {
        url: wiring.config.notify.webhook_url.expose().to_owned(),
        secret: wiring.config.notify.webhook_secret.expose().to_owned(),
    };
    let parts = scheduler::Parts {
        store: Arc::clone(&wiring.plans),
        types: wiring.types.clone(),
        bus: wiring.bus.clone(),
        announcer: announcer.clone(),
        metrics: wiring.metrics.clone(),
        health: wiring.health.clone(),
    };
    scheduler::run(config, parts, wiring.shutdown.clone()).await;
    announcer.flush(CLOSE_LIMIT).await;
}

async fn record(wiring: Wiring) {
    let announcer = wiring.announcer();
    let parts = recorder::Parts {
        store: Arc::clone(&wiring.store),
        bus: wiring.bus.clone(),
        announcer: announcer.clone(),
        archive: Arc::new(recorder::Counts::new(Arc::clone(&wiring.store))),
        health: wiring.health.clone(),
    };
    recorder::run(
        recorder::Config::new(&wiring.node),
        parts,
        wiring.shutdown.clone(),
    )
    .await;
    announcer.flush(CLOSE_LIMIT).await;
}

async fn dispatch(wiring: Wiring) {
    let config = dispatcher::Config {
        id: wiring.node.clone(),
        node: wiring.node.clone(),
        window: wiring.config.dispatcher.window.as_duration(),
        limits: wiring.limits(),
    };
    let parts = dispatcher::Parts {
        store: Arc::clone(&wiring.store),
        bus: wiring.bus.clone(),
        announcer: wiring.announcer(),
        types: wiring.types.clone(),
        metrics: wiring.metrics.clone(),
    };
    let announcer = parts.announcer.clone();
    dispatcher::run(config, parts, wiring.shutdown.clone()).await;
    announcer.flush(CLOSE_LIMIT).await;
}
