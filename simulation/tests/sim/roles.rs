//! The services as they are, on the store and the bus of the simulation.

use std::sync::Arc;
use std::time::Duration;

use admission::{Limits, Types};
use executor::Handlers;
use handler::Registry;
use messaging::{Announcer, Bus};
use runtime::{Health, Shutdown};
use store::{PlanStore, Retention, TaskStore};
use telemetry::Metrics;
use tokio::task::JoinHandle;

use crate::bus::Line;
use crate::mutation::Mutation;
use crate::people;
use crate::play::Play;
use crate::store::SimStore;
use crate::world::{LEASE_MS, Who, World};

/// Tasks that an executor runs at once.
const CONCURRENCY: u32 = 3;

/// What a process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Scheduler,
    Dispatcher,
    Executor,
    Recorder,
    /// Those who submit, and one who operates: outside of the town, never killed.
    People,
}

/// What a process is connected with.
pub(crate) struct Parts {
    pub(crate) world: Arc<World>,
    pub(crate) name: String,
    pub(crate) store: SimStore,
    pub(crate) bus: Bus,
    pub(crate) announcer: Announcer,
    pub(crate) types: Types,
    metrics: Metrics,
}

impl Parts {
    fn new(world: &Arc<World>, who: Who) -> Self {
        let store = SimStore {
            world: Arc::clone(world),
            who,
        };
        let line = Arc::new(Line::new(Arc::clone(world), who));
        let bus = Bus::in_memory(messaging::Config::default(), line);
        let (shared, metrics): (Arc<dyn TaskStore>, _) = (Arc::new(store.clone()), Metrics::new());
        let name = world.names[who].clone();
        Self {
            world: Arc::clone(world),
            announcer: Announcer::new(
                Arc::clone(&shared),
                bus.publisher(),
                metrics.clone(),
                name.as_str(),
            ),
            types: Types::new(shared),
            name,
            store,
            bus,
            metrics,
        }
    }

    fn tasks(&self) -> Arc<dyn TaskStore> {
        Arc::new(self.store.clone())
    }

    fn plans(&self) -> Arc<dyn PlanStore> {
        Arc::new(self.store.clone())
    }
}

/// Starts a process in the runtime that is entered.
pub(crate) fn start(role: Role, world: &Arc<World>, who: Who, shutdown: Shutdown) -> JoinHandle<()> {
    let parts = Parts::new(world, who);
    match role {
        Role::Scheduler => tokio::spawn(scheduler(parts, shutdown)),
        Role::Dispatcher => tokio::spawn(dispatcher(parts, shutdown)),
        Role::Executor => tokio::spawn(executor(parts, shutdown)),
        Role::Recorder => tokio::spawn(recorder(parts, shutdown)),
        Role::People => tokio::spawn(people::live(parts, shutdown)),
    }
}

async fn scheduler(parts: Parts, shutdown: Shutdown) {
    let day_ms = 86_400_000;
    let retention = Retention {
        success_ms: day_ms,
        cancelled_ms: day_ms,
        dead_ms: day_ms,
        count: 100_000,
    };
    let lease = Duration::from_millis(LEASE_MS.unsigned_abs());
    // Not so often as in production: a seed has many minutes of beats in which nothing happens.
    let config = scheduler::Config {
        release_every: Duration::from_millis(400),
        fire_every: Duration::from_millis(700),
        reclaim_every: Duration::from_millis(500),
        follow_every: Duration::from_secs(20),
        retain_every: Duration::from_secs(60),
        sweep_every: Duration::from_secs(60),
        gauges_every: Duration::from_secs(60),
        ..scheduler::Config::new(parts.name.as_str(), lease, retention)
    };
    let parts = scheduler::Parts {
        store: parts.plans(),
        bus: parts.bus,
        announcer: parts.announcer,
        types: parts.types,
        metrics: parts.metrics,
        health: Health::new(),
    };
    scheduler::run(config, parts, shutdown).await;
}

async fn dispatcher(parts: Parts, shutdown: Shutdown) {
    let config = dispatcher::Config {
        id: parts.name.clone(),
        node: parts.name.clone(),
        window: Duration::from_millis(20),
        limits: Limits::default(),
    };
    let parts = dispatcher::Parts {
        store: parts.tasks(),
        bus: parts.bus,
        announcer: parts.announcer,
        types: parts.types,
        metrics: parts.metrics,
    };
    dispatcher::run(config, parts, shutdown).await;
}

async fn executor(parts: Parts, shutdown: Shutdown) {
    let config = executor::Config {
        id: parts.name.clone(),
        node: parts.name.clone(),
        pool: "default".into(),
        concurrency: CONCURRENCY,
        lease: Duration::from_millis(LEASE_MS.unsigned_abs()),
        drain_grace: Duration::from_secs(1),
        output_bytes: 1 << 16,
        result_bytes: 1 << 16,
        fan_out: executor::FanOut {
            files: executor::FilePolicy::Only(Vec::new()),
            source_bytes: 1 << 16,
            source_rows: 1 << 16,
            limits: admission::Limits::default(),
        },
    };
    let mutation = match parts.store.world.mutation {
        Some(Mutation::AckBeforeClaim) => Some(executor::Mutation::AckBeforeClaim),
        Some(Mutation::ForgetSlot) => Some(executor::Mutation::ForgetSlot),
        _ => None,
    };
    let mut registry = Registry::new();
    registry
        .register("play", Play::new(Arc::clone(&parts.world)))
        .unwrap();
    let second = parts.tasks();
    let parts = executor::Parts {
        store: parts.tasks(),
        open_store: Arc::new(move || {
            let second = Arc::clone(&second);
            Box::pin(async move { Ok(second) })
        }),
        bus: parts.bus,
        announcer: parts.announcer,
        types: parts.types,
        handlers: Arc::new(Handlers::new(registry, handlers::Options::default())),
        metrics: parts.metrics,
    };
    executor::simulate(config, parts, mutation, shutdown)
        .await
        .unwrap();
}

async fn recorder(parts: Parts, shutdown: Shutdown) {
    let config = recorder::Config {
        lease: Duration::from_secs(3),
        ..recorder::Config::new(parts.name.as_str())
    };
    let parts = recorder::Parts {
        store: parts.tasks(),
        bus: parts.bus.clone(),
        announcer: parts.announcer.clone(),
        archive: Arc::new(recorder::Counts::new(parts.tasks())),
        health: Health::new(),
    };
    recorder::run(config, parts, shutdown).await;
}
