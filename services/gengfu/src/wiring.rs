//! Connects what a role works with, and waits for what is away: down is normal.

use std::sync::Arc;
use std::time::Duration;

use admission::Types;
use messaging::{Announcer, Bus};
use runtime::{Config, Dependency, Health, Shutdown};
use store::TaskStore;
use store_redis::RedisStore;
use telemetry::Metrics;

/// Limit of one attempt to connect, and of one look whether the store answers.
const ANSWER_LIMIT: Duration = Duration::from_secs(6);
/// How often the store is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What all roles share.
#[derive(Clone)]
pub(crate) struct Wiring {
    pub(crate) config: Config,
    pub(crate) health: Health,
    pub(crate) metrics: Metrics,
    pub(crate) store: Arc<dyn TaskStore>,
    pub(crate) bus: Bus,
    pub(crate) types: Types,
    pub(crate) shutdown: Shutdown,
    redis: store_redis::Config,
}

fn redis_config(config: &Config) -> store_redis::Config {
    store_redis::Config {
        url: config.redis.url.expose().to_owned(),
        partitions: config.redis.partitions,
        outbox_max: config.limits.outbox_entries,
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

/// Connects to both; none once it is time to stop.
///
/// # Errors
/// What can't get better by waiting, in one sentence.
pub(crate) async fn connect(
    config: Config,
    node: &str,
    health: Health,
    metrics: Metrics,
    shutdown: Shutdown,
) -> anyhow::Result<Option<Wiring>> {
    let redis = redis_config(&config);
    let bus = Bus::connect(bus_config(&config, node)).await?;
    watch_bus(&bus, health.dependency("nats"), &shutdown);
    let dependency = health.dependency("redis");
    let Some(store) = open_store(&redis, &dependency, &shutdown).await? else {
        return Ok(None);
    };
    watch_store(&store, dependency, &shutdown);
    let types = Types::new(Arc::clone(&store));
    Ok(Some(Wiring {
        config,
        health,
        metrics,
        store,
        bus,
        types,
        shutdown,
        redis,
    }))
}

async fn open_store(
    config: &store_redis::Config,
    dependency: &Dependency,
    shutdown: &Shutdown,
) -> anyhow::Result<Option<Arc<dyn TaskStore>>> {
    let opened = runtime::reconnect(dependency, shutdown, ANSWER_LIMIT, || async {
        match RedisStore::open(config).await {
            Ok(store) => Ok(Ok(store as Arc<dyn TaskStore>)),
            // Waiting does not mend a store that is set up wrongly: a person has to.
            Err(error @ store::Error::Unusable(_)) => Ok(Err(error)),
            Err(error) => Err(error),
        }
    })
    .await;
    Ok(opened.transpose()?)
}

fn watch_bus(bus: &Bus, dependency: Dependency, shutdown: &Shutdown) {
    let (bus, shutdown) = (bus.clone(), shutdown.clone());
    tokio::spawn(async move {
        let mut state = bus.state();
        loop {
            match state.reason() {
                None => dependency.ready(),
                Some(reason) => dependency.not_ready(&reason),
            }
            let Some(changed) = shutdown.or_stop(bus.changed()).await else {
                return;
            };
            state = changed;
        }
    });
}

fn watch_store(store: &Arc<dyn TaskStore>, dependency: Dependency, shutdown: &Shutdown) {
    let (store, shutdown) = (Arc::clone(store), shutdown.clone());
    tokio::spawn(async move {
        while shutdown.or_stop(tokio::time::sleep(LOOK_EVERY)).await.is_some() {
            match tokio::time::timeout(ANSWER_LIMIT, store.ping()).await {
                Ok(Ok(_)) => dependency.ready(),
                Ok(Err(error)) => dependency.not_ready(&error.to_string()),
                Err(_) => dependency.not_ready("Redis does not answer"),
            }
        }
    });
}

impl Wiring {
    /// Opens a further connection to the store.
    pub(crate) fn opener(&self) -> executor::OpenStore {
        let redis = self.redis.clone();
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
    pub(crate) fn announcer(&self, node: &str) -> Announcer {
        Announcer::new(
            Arc::clone(&self.store),
            self.bus.publisher(),
            self.metrics.clone(),
            node,
        )
    }

    /// What a submission may be.
    pub(crate) fn limits(&self) -> admission::Limits {
        admission::Limits {
            payload_bytes: usize::try_from(self.config.limits.payload_bytes).unwrap_or(usize::MAX),
            sample_ratio: self.config.telemetry.sample_ratio,
            key_window_ms: bytes(
                u64::try_from(self.config.retention.keys.as_duration().as_millis()).unwrap_or(u64::MAX),
            ),
        }
    }
}
