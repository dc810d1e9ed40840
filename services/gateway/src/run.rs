//! Starts the gateway: the API answers from the first moment, with 503 until the store does.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::{Duration, Instant},
};

use admission::{Limits, Types};
use messaging::{Announcer, Bus};
use runtime::{Config, Dependency, Health, ServeError, Serving, Shutdown, Tasks, health_router, serve};
use store::{PlanStore, TaskStore};
use telemetry::Metrics;
use thiserror::Error;
use tokio::sync::Semaphore;

use crate::{
    api,
    credit::Credit,
    gate::{Entrance, Gate},
};

/// Where the gateway listens if nothing is said.
pub const LISTEN_DEFAULT: &str = "127.0.0.1:7420";
/// Longest end of what is being answered.
const GRACE: Duration = Duration::from_secs(10);
/// How often the store is asked whether it answers, and whether the types changed.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Wait before listening to NATS again where that failed.
const LISTEN_AGAIN: Duration = Duration::from_secs(1);

/// Why a gateway does not start.
#[derive(Debug, Error)]
pub enum Error {
    /// The address can be reached from elsewhere, and there are no roles and tokens yet.
    #[error(
        "listen is {0:?}, which others can reach; until roles and tokens come, give a loopback address such as 127.0.0.1:7420"
    )]
    NotLoopback(String),
    /// Tokens are asked for, and there are none yet.
    #[error(
        "auth.required is set, but this version knows no tokens yet; leave it out and listen on loopback"
    )]
    NoTokens,
    /// The address can't be used.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// A loop ended before its time.
    #[error("the gateway stopped because {0} failed")]
    Failed(String),
}

/// What a process shares among its roles.
#[derive(Debug, Clone)]
pub struct Parts {
    /// The way of messages.
    pub bus: Bus,
    /// The numbers of this process.
    pub metrics: Metrics,
    /// What this process depends on.
    pub health: Health,
    /// The name of this process.
    pub node: String,
}

/// A gateway that listens. Dropping it ends it.
pub struct Gateway {
    serving: Serving,
    entrance: Entrance,
    parts: Parts,
    limits: Limits,
}

impl std::fmt::Debug for Gateway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gateway")
            .field("address", &self.address())
            .finish_non_exhaustive()
    }
}

impl Gateway {
    /// Listens, and answers 503 until [`Gateway::run`] has a store.
    ///
    /// # Errors
    /// An address that is taken, is none, or is not loopback.
    pub async fn bind(config: &Config, parts: Parts) -> Result<Self, Error> {
        check(config)?;
        let listen = config.listen_or(LISTEN_DEFAULT);
        let entrance = Entrance {
            health: parts.health.clone(),
            ..Entrance::default()
        };
        let metrics = parts.metrics.clone();
        // Not ready from the start, not only once the loops run.
        let _ = (parts.health.dependency("redis"), parts.health.dependency("nats"));
        let router = api::router(entrance.clone())
            .merge(health_router(parts.health.clone(), move || metrics.render()));
        let serving = serve(listen, router).await?;
        Ok(Self {
            serving,
            entrance,
            parts,
            limits: limits(config),
        })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.serving.address()
    }

    /// Serves until the shutdown. `store` resolves when the store is there, or to none when it is time to stop.
    ///
    /// # Errors
    /// A loop that ended before its time.
    pub async fn run(
        self,
        store: impl Future<Output = Option<Arc<dyn PlanStore>>>,
        shutdown: Shutdown,
    ) -> Result<(), Error> {
        let Some(Some(store)) = shutdown.or_stop(store).await else {
            self.serving.stop(GRACE).await;
            return Ok(());
        };
        let gate = self.gate(store);
        // Nobody else sets it: `run` takes the gateway.
        let _ = self.entrance.gate.set(gate.clone());
        let mut tasks = Tasks::new(shutdown.clone());
        let health = &self.parts.health;
        tasks.spawn(
            "watch store",
            watch_store(gate.clone(), health.dependency("redis"), shutdown.clone()),
        );
        tasks.spawn(
            "watch nats",
            watch_nats(gate.bus.clone(), health.dependency("nats"), shutdown.clone()),
        );
        tasks.spawn("slot reports", read_slots(gate.clone(), shutdown.clone()));
        tasks.spawn("control nudges", read_control(gate.clone(), shutdown));
        let drained = tasks.run(GRACE).await;
        self.parts.health.stopping();
        self.serving.stop(GRACE).await;
        gate.announcer.flush(GRACE).await;
        match drained.failed.into_iter().next() {
            Some((name, error)) => Err(Error::Failed(format!("{name}: {error}"))),
            None => Ok(()),
        }
    }

    fn gate(&self, store: Arc<dyn PlanStore>) -> Gate {
        let tasks: Arc<dyn TaskStore> = store.clone();
        let Parts {
            bus, metrics, node, ..
        } = &self.parts;
        let publisher = bus.publisher();
        Gate {
            types: Types::new(Arc::clone(&tasks)),
            announcer: Announcer::new(tasks, publisher.clone(), metrics.clone(), node.as_str()),
            store,
            bus: bus.clone(),
            publisher,
            credit: Credit::default(),
            limits: self.limits,
            metrics: metrics.clone(),
            node: node.as_str().into(),
            auditing: Arc::new(Semaphore::new(1)),
        }
    }
}

/// Checks the settings of a gateway, before it connects to anything.
///
/// # Errors
/// An address that is not loopback, or tokens that are asked for.
pub fn check(config: &Config) -> Result<(), Error> {
    let listen = config.listen_or(LISTEN_DEFAULT);
    if !is_loopback(listen) {
        return Err(Error::NotLoopback(listen.to_owned()));
    }
    if config.auth.required {
        return Err(Error::NoTokens);
    }
    Ok(())
}

/// Binds and runs.
///
/// # Errors
/// As [`Gateway::bind`] and [`Gateway::run`].
pub async fn run(
    config: &Config,
    parts: Parts,
    store: impl Future<Output = Option<Arc<dyn PlanStore>>>,
    shutdown: Shutdown,
) -> Result<(), Error> {
    Gateway::bind(config, parts).await?.run(store, shutdown).await
}

fn limits(config: &Config) -> Limits {
    Limits {
        payload_bytes: usize::try_from(config.limits.payload_bytes).unwrap_or(usize::MAX),
        sample_ratio: config.telemetry.sample_ratio,
        key_window_ms: config.retention.keys.as_ms(),
    }
}

fn is_loopback(listen: &str) -> bool {
    let host = listen.rsplit_once(':').map_or(listen, |(host, _)| host);
    let address = host
        .trim_start_matches('[')
        .trim_end_matches(']')
        .parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// Says on `/readyz` whether the store answers, and keeps the types new.
async fn watch_store(gate: Gate, redis: Dependency, shutdown: Shutdown) {
    loop {
        let looked = async {
            gate.store.ping().await?;
            gate.types.refresh().await
        };
        match looked.await {
            Ok(_) => redis.ready(),
            Err(error) => redis.not_ready(&chain(&error)),
        }
        if shutdown.or_stop(tokio::time::sleep(LOOK_EVERY)).await.is_none() {
            return;
        }
    }
}

async fn watch_nats(bus: Bus, nats: Dependency, shutdown: Shutdown) {
    loop {
        match bus.state().reason() {
            None => nats.ready(),
            Some(reason) => nats.not_ready(&reason),
        }
        // Looked at again after a while, in case a change came between the two.
        let changed = tokio::time::timeout(LOOK_EVERY, bus.changed());
        if shutdown.or_stop(changed).await.is_none() {
            return;
        }
    }
}

async fn read_slots(gate: Gate, shutdown: Shutdown) {
    let read = async {
        loop {
            match gate.bus.slot_reports().await {
                Ok(mut reports) => {
                    while let Some(report) = reports.next().await {
                        gate.credit.report(report, Instant::now());
                    }
                }
                Err(error) => tracing::debug!(%error, "slot reports can't be read"),
            }
            tokio::time::sleep(LISTEN_AGAIN).await;
        }
    };
    shutdown.or_stop::<()>(read).await;
}

async fn read_control(gate: Gate, shutdown: Shutdown) {
    let read = async {
        loop {
            match gate.bus.control_nudges().await {
                Ok(mut nudges) => {
                    while nudges.next().await.is_some() {
                        if let Err(error) = gate.types.refresh().await {
                            tracing::debug!(%error, "types can't be read");
                        }
                    }
                }
                Err(error) => tracing::debug!(%error, "nudges can't be read"),
            }
            tokio::time::sleep(LISTEN_AGAIN).await;
        }
    };
    shutdown.or_stop::<()>(read).await;
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        text = format!("{text}: {source}");
        next = source.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_is_loopback() {
        for listen in ["127.0.0.1:7420", "127.8.9.1:0", "[::1]:7420", "localhost:7420"] {
            assert!(is_loopback(listen), "{listen}");
        }
        for listen in [
            "0.0.0.0:7420",
            "[::]:7420",
            "10.0.0.1:80",
            "example.org:80",
            ":7420",
            "",
            "127.0.0.1.x:1",
        ] {
            assert!(!is_loopback(listen), "{listen}");
        }
    }
}
