//! Owns work: claims, runs handlers, heartbeats, completes; belongs to one pool.
//!
//! A run is protected by its lease in the store from the moment of the claim; messages are acked right after it.
//! Start reading at [`run`], then `pull.rs` (where work comes from), `attempt.rs` (what a run is) and `end.rs`.
//! A binary with handlers of one's own is an executor by calling [`main`].

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod attempt;
mod build;
mod claim;
mod drain;
mod end;
mod fan_out;
mod heartbeat;
mod mutation;
mod probe;
mod process;
mod pull;
mod report;
mod runs;
mod tiers;

use std::{sync::Arc, time::Duration};

use admission::Types;
use messaging::{Announcer, Bus};
use role::OpenStore;
use runtime::{Shutdown, Tasks};
use store::{Origin, TaskStore};
use telemetry::Metrics;
use tokio::{sync::Semaphore, time::Instant};

use crate::runs::Runs;

pub use build::Handlers;
pub use fan_out::{FanOut, FilePolicy};
#[cfg(feature = "simulation")]
pub use mutation::Mutation;
pub use process::{main, work};

/// A run is ended so much of the lease before its end, a sixth, where no heartbeat was answered: what it started is
/// gone before anybody else may begin.
const LEASE_MARGIN: u32 = 6;

/// What an executor is.
#[derive(Debug, Clone)]
pub struct Config {
    /// Its name, one of its own.
    pub id: String,
    /// The node, for timelines and logs.
    pub node: String,
    /// The pool that it works for.
    pub pool: String,
    /// Tasks at once.
    pub concurrency: u32,
    /// How long a claim lasts without a heartbeat.
    pub lease: Duration,
    /// How long running tasks may go on once it drains.
    pub drain_grace: Duration,
    /// Bytes kept of what a handler prints.
    pub output_bytes: usize,
    /// Most bytes of a result.
    pub result_bytes: usize,
    /// What a fire may become a batch of.
    pub fan_out: FanOut,
}

/// What an executor works with.
#[derive(Clone)]
pub struct Parts {
    /// The task state.
    pub store: Arc<dyn TaskStore>,
    /// A further connection to it.
    pub open_store: OpenStore,
    /// Where hints come from.
    pub bus: Bus,
    /// Where transitions go.
    pub announcer: Announcer,
    /// The task types.
    pub types: Types,
    /// The handlers.
    pub handlers: Arc<Handlers>,
    /// What is counted.
    pub metrics: Metrics,
}

/// The state that the loops of one executor share.
struct Executor {
    config: Config,
    parts: Parts,
    origin: Origin,
    /// A run holds one from the claim to its end.
    slots: Arc<Semaphore>,
    /// An end holds one until the store has it.
    telling: Arc<Semaphore>,
    runs: Runs,
    counts: report::Counts,
    #[cfg(feature = "simulation")]
    mutation: Option<Mutation>,
}

impl Executor {
    fn lease_ms(&self) -> i64 {
        i64::try_from(self.config.lease.as_millis()).unwrap_or(i64::MAX)
    }

    /// Until when a lease certainly lasts that was asked for at `asked`, less the time to end a run.
    fn term(&self, asked: Instant) -> Instant {
        asked + self.config.lease - self.config.lease / LEASE_MARGIN
    }
}

/// Works until `shutdown`, then drains: finishes what it can within the grace and hands the rest back.
///
/// # Errors
/// When the pool has no valid name, or the heartbeats get no thread.
pub async fn run(config: Config, parts: Parts, shutdown: Shutdown) -> Result<(), String> {
    let executor = Executor::new(config, parts);
    work_until(Arc::new(executor), heartbeat::start, shutdown).await
}

/// The same in a simulation: the heartbeats share its one runtime, whose time is made.
///
/// # Errors
/// When the pool has no valid name.
#[cfg(feature = "simulation")]
pub async fn simulate(
    config: Config,
    parts: Parts,
    mutation: Option<Mutation>,
    shutdown: Shutdown,
) -> Result<(), String> {
    let mut executor = Executor::new(config, parts);
    executor.mutation = mutation;
    work_until(Arc::new(executor), |it| Ok(heartbeat::beside(it)), shutdown).await
}

impl Executor {
    fn new(config: Config, parts: Parts) -> Self {
        Self {
            origin: Origin {
                actor: "executor".into(),
                node: config.node.clone(),
                reason: String::new(),
            },
            slots: Arc::new(Semaphore::new(config.concurrency as usize)),
            telling: Arc::new(Semaphore::new(config.concurrency as usize)),
            runs: Runs::default(),
            counts: report::Counts::default(),
            config,
            parts,
            #[cfg(feature = "simulation")]
            mutation: None,
        }
    }
}

async fn work_until(
    executor: Arc<Executor>,
    heartbeats: impl FnOnce(&Arc<Executor>) -> Result<heartbeat::Heartbeats, String>,
    shutdown: Shutdown,
) -> Result<(), String> {
    let pool = &executor.config.pool;
    let puller = executor.parts.bus.work(pool).map_err(|error| error.to_string())?;
    let ends = end::start(Arc::clone(&executor));
    let heartbeats = heartbeats(&executor)?;
    let mut tasks = Tasks::new(shutdown.clone());
    tasks.spawn(
        "pull",
        pull::run(Arc::clone(&executor), puller, ends, shutdown.clone()),
    );
    tasks.spawn("report", report::run(Arc::clone(&executor), shutdown.clone()));
    tasks.spawn(
        "nudges",
        heartbeat::nudges(Arc::clone(&executor), shutdown.clone()),
    );
    tasks.spawn("probe", probe::answer(Arc::clone(&executor), shutdown.clone()));
    tasks.run(Duration::from_secs(10)).await;
    drain::drain(&executor).await;
    heartbeats.stop();
    Ok(())
}
