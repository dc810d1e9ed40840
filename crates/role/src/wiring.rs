//! Connects what a role works with, and waits for what is away: down is normal.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use admission::Types;
use messaging::{Announcer, Bus};
use runtime::{Backoff, Config, Dependency, Health, Shutdown};
use store::{PlanStore, TaskStore};
use store_redis::{KnownEpoch, RedisStore};
use telemetry::Metrics;

use crate::{Error, Process, chain, epoch::Watch};

/// What one attempt to connect, or one look whether the store answers, may take beyond the limit of a call.
const MARGIN: Duration = Duration::from_secs(1);
/// How often NATS is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How often the store is looked at, and its epoch.
const EPOCH_EVERY: Duration = Duration::from_millis(500);

/// Opens a further connection to the store, for whoever must not wait behind others.
pub type OpenStore = Arc<
    dyn Fn() -> Pin<Box<dyn Future<Output = Result<Arc<dyn TaskStore>, store::Error>> + Send>> + Send + Sync,
>;

/// A process that is connected. Clones share the connections.
#[derive(Clone)]
pub struct Wiring {
    /// Its settings.
    pub config: Config,
    /// Its name in logs, traces and timelines.
    pub node: String,
    /// What it depends on.
    pub health: Health,
    /// What it counts.
    pub metrics: Metrics,
    /// The task state.
    pub store: Arc<dyn TaskStore>,
    /// The same with the plan table.
    pub plans: Arc<dyn PlanStore>,
    /// The epoch of the store that all its connections know.
    pub(crate) epoch: KnownEpoch,
    /// The way of messages.
    pub bus: Bus,
    /// The task types.
    pub types: Types,
    /// When it stops.
    pub shutdown: Shutdown,
}

impl std::fmt::Debug for Wiring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wiring")
            .field("node", &self.node)
            .finish_non_exhaustive()
    }
}

fn redis_config(config: &Config, epoch: &KnownEpoch) -> store_redis::Config {
    store_redis::Config {
        url: config.redis.url.expose().to_owned(),
        partitions: config.redis.partitions,
        outbox_max: config.limits.outbox_entries,
        timeout: config.redis.timeout.as_duration(),
        memory_percent: config.limits.memory_percent,
        epoch: epoch.clone(),
    }
}

fn bytes(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn bus_config(config: &Config, node: &str) -> messaging::Config {
    messaging::Config {
        url: config.nats.url.expose().to_owned(),
        name: node.to_owned(),
        replicas: config.nats.replicas.into(),
        submit_bytes: bytes(config.nats.submit_max_bytes),
        events_bytes: bytes(config.nats.events_max_bytes),
        events_age: config.nats.events_max_age.as_duration(),
        hint_age: config.nats.hints_max_age.as_duration(),
        request_timeout: config.nats.timeout.as_duration(),
        ..messaging::Config::default()
    }
}

pub(crate) async fn bus(process: &Process) -> Result<Bus, Error> {
    let bus = Bus::connect(bus_config(&process.config, &process.node)).await?;
    watch_bus(&bus, process.health.dependency("nats"), &process.shutdown);
    Ok(bus)
}

pub(crate) async fn store(process: &Process, bus: &Bus) -> Result<Option<Arc<dyn PlanStore>>, Error> {
    let config = redis_config(&process.config, &process.epoch);
    let dependency = process.health.dependency("redis");
    let shutdown = &process.shutdown;
    let Some(store) = open_store(&config, &dependency, shutdown).await? else {
        return Ok(None);
    };
    let mut watch = Watch::new(Arc::clone(&store), bus.clone());
    let limit = config.timeout + MARGIN;
    if !is_right(&mut watch, &dependency, shutdown, limit).await {
        return Ok(None);
    }
    watch_store(&store, watch, dependency, shutdown, limit);
    Ok(Some(store))
}

async fn open_store(
    config: &store_redis::Config,
    dependency: &Dependency,
    shutdown: &Shutdown,
) -> Result<Option<Arc<dyn PlanStore>>, store::Error> {
    let mut backoff = Backoff::default();
    loop {
        let connecting = tokio::time::timeout(config.timeout + MARGIN, RedisStore::connect(config));
        match shutdown.or_stop(connecting).await {
            None => return Ok(None),
            Some(Ok(Ok(store))) => return Ok(Some(store)),
            // Waiting does not mend a store that is set up wrongly: a person has to.
            Some(Ok(Err(error @ store::Error::Unusable(_)))) => return Err(error),
            Some(Ok(Err(error))) => dependency.not_ready(&chain(&error)),
            Some(Err(_)) => dependency.not_ready("no answer in time"),
        }
        shutdown.or_stop(tokio::time::sleep(backoff.next_wait())).await;
    }
}

/// Waits until the store is the right one; false once it is time to stop.
async fn is_right(watch: &mut Watch, dependency: &Dependency, shutdown: &Shutdown, limit: Duration) -> bool {
    loop {
        match shutdown.or_stop(tokio::time::timeout(limit, watch.look())).await {
            None => return false,
            Some(Ok(Ok(()))) => {
                dependency.ready();
                return true;
            }
            Some(Ok(Err(doubt))) => dependency.not_ready(&doubt.to_string()),
            Some(Err(_)) => dependency.not_ready("no answer in time"),
        }
        shutdown.or_stop(tokio::time::sleep(EPOCH_EVERY)).await;
    }
}

fn watch_bus(bus: &Bus, dependency: Dependency, shutdown: &Shutdown) {
    let (bus, shutdown) = (bus.clone(), shutdown.clone());
    tokio::spawn(async move {
        loop {
            match bus.state().reason() {
                None => dependency.ready(),
                Some(reason) => dependency.not_ready(&reason),
            }
            // Looked at again after a while, in case a change came between the two.
            let changed = tokio::time::timeout(LOOK_EVERY, bus.changed());
            if shutdown.or_stop(changed).await.is_none() {
                return;
            }
        }
    });
}

/// Asks for the epoch first: a server that lost its data answers like any other.
fn watch_store(
    store: &Arc<dyn PlanStore>,
    mut watch: Watch,
    dependency: Dependency,
    shutdown: &Shutdown,
    limit: Duration,
) {
    let (store, shutdown) = (Arc::clone(store), shutdown.clone());
    tokio::spawn(async move {
        while shutdown.or_stop(tokio::time::sleep(EPOCH_EVERY)).await.is_some() {
            let looked = async {
                watch.look().await.map_err(|doubt| doubt.to_string())?;
                store.ping().await.map_err(|error| chain(&error))
            };
            match tokio::time::timeout(limit, looked).await {
                Ok(Ok(_)) => dependency.ready(),
                Ok(Err(why)) => dependency.not_ready(&why),
                Err(_) => dependency.not_ready("Redis does not answer"),
            }
        }
    });
}

impl Wiring {
    pub(crate) fn new(process: Process, plans: Arc<dyn PlanStore>, bus: Bus) -> Self {
        let store: Arc<dyn TaskStore> = plans.clone();
        Self {
            types: Types::new(Arc::clone(&store)),
            config: process.config,
            node: process.node,
            health: process.health,
            metrics: process.metrics,
            shutdown: process.shutdown,
            epoch: process.epoch,
            store,
            plans,
            bus,
        }
    }

    /// The same under another role's name, where one process plays several.
    #[must_use]
    pub fn named(&self, role: &str) -> Self {
        Self {
            node: self.config.node(role),
            ..self.clone()
        }
    }

    /// Opens a further connection to the store.
    #[must_use]
    pub fn opener(&self) -> OpenStore {
        let redis = redis_config(&self.config, &self.epoch);
        Arc::new(move || {
            let redis = redis.clone();
            Box::pin(async move {
                RedisStore::open(&redis)
                    .await
                    .map(|store| store as Arc<dyn TaskStore>)
            })
        })
    }

    /// Carries the transitions that one role made.
    #[must_use]
    pub fn announcer(&self) -> Announcer {
        Announcer::new(
            Arc::clone(&self.store),
            self.bus.publisher(),
            self.metrics.clone(),
            self.node.as_str(),
        )
    }

    /// What a submission may be.
    #[must_use]
    pub fn limits(&self) -> admission::Limits {
        admission::Limits {
            payload_bytes: usize::try_from(self.config.limits.payload_bytes).unwrap_or(usize::MAX),
            sample_ratio: self.config.telemetry.sample_ratio,
            key_window_ms: bytes(
                u64::try_from(self.config.retention.keys.as_duration().as_millis()).unwrap_or(u64::MAX),
            ),
        }
    }
}
