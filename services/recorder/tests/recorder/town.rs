//! A store, a server and recorders of one test.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use bytes::Bytes;
use domain::{TaskId, Tier};
use gengfu_integration_tests::NatsServer;
use messaging::{Announcer, Bus, Config};
use recorder::Counts;
use runtime::{Drained, Health, Shutdown};
use store::{Clock, Model, NewTask, Operation, Origin, OutboxEntry, TaskStore};
use telemetry::Metrics;
use tokio::task::JoinHandle;

pub(crate) const PARTITIONS: u16 = 4;
/// Longest wait for anything.
pub(crate) const SOON: Duration = Duration::from_secs(20);

pub(crate) struct Town {
    pub(crate) nats: NatsServer,
    pub(crate) store: Arc<Model>,
    pub(crate) bus: Bus,
    pub(crate) announcer: Announcer,
    calls: u8,
}

/// A recorder that runs.
pub(crate) struct Running {
    pub(crate) counts: Arc<Counts>,
    pub(crate) health: Health,
    shutdown: Shutdown,
    run: JoinHandle<Drained>,
}

impl Running {
    pub(crate) async fn stop(self) -> Drained {
        self.shutdown.trigger();
        tokio::time::timeout(SOON, self.run).await.unwrap().unwrap()
    }
}

impl Town {
    pub(crate) async fn new() -> Self {
        let nats = NatsServer::start_new().unwrap();
        let bus = Bus::connect(Config {
            url: nats.url(),
            ..Config::default()
        })
        .await
        .unwrap();
        bus.wait_ready().await.unwrap();
        let store = Arc::new(Model::new(PARTITIONS, Clock::real()));
        let announcer = Announcer::new(store.clone(), bus.publisher(), Metrics::new(), "test");
        Self {
            nats,
            store,
            bus,
            announcer,
            calls: 0,
        }
    }

    pub(crate) fn start(&self, node: &str) -> Running {
        let store: Arc<dyn TaskStore> = self.store.clone();
        let (counts, health) = (Arc::new(Counts::new(Arc::clone(&store))), Health::new());
        let shutdown = Shutdown::new();
        let parts = recorder::Parts {
            store,
            bus: self.bus.clone(),
            announcer: self.announcer.clone(),
            archive: counts.clone(),
            health: health.clone(),
        };
        let config = recorder::Config {
            lease: Duration::from_secs(2),
            ..recorder::Config::new(node)
        };
        let run = tokio::spawn(recorder::run(config, parts, shutdown.clone()));
        Running {
            counts,
            health,
            shutdown,
            run,
        }
    }

    fn nonce(&mut self) -> [u8; 16] {
        self.calls += 1;
        [self.calls; 16]
    }

    /// Admits a task and cancels it: two transitions, in an entry each.
    pub(crate) async fn live(&mut self, number: u8) -> Vec<OutboxEntry> {
        let new = task(number);
        let (partition, id) = (new.id.partition(PARTITIONS), new.id);
        let (first, second) = (self.nonce(), self.nonce());
        let origin = Origin::default();
        let admitted = self.store.admit(partition, first, &origin, &[new]).await.unwrap();
        let cancelled = self
            .store
            .operate(partition, second, &origin, Operation::Cancel, &[id])
            .await
            .unwrap();
        [admitted.outbox, cancelled.outbox]
            .into_iter()
            .flatten()
            .collect()
    }

    /// The same, and the stream has both when it returns.
    pub(crate) async fn live_announced(&mut self, number: u8) {
        let removed = self.announcer.counts().removed;
        for entry in self.live(number).await {
            self.announcer.announce(Some(entry));
        }
        assert!(self.announcer.flush(SOON).await);
        assert_eq!(self.announcer.counts().removed, removed + 2);
    }

    /// What was counted over all hours, by status.
    pub(crate) async fn counted(&self) -> BTreeMap<String, u64> {
        let mut counted = BTreeMap::new();
        for (_, field, count) in self.store.hours(0).await.unwrap() {
            *counted
                .entry(field.trim_start_matches("a.b|").to_owned())
                .or_default() += count;
        }
        counted
    }

    /// Whether so many tasks were counted, each in both of its statuses.
    pub(crate) async fn has_counted(&self, tasks: u64) -> bool {
        self.counted().await
            == BTreeMap::from([("cancelled".to_owned(), tasks), ("pending".to_owned(), tasks)])
    }

    /// Where the store's position of a partition stands.
    pub(crate) async fn position(&self, partition: u16) -> (i64, u64) {
        self.store.recorded(partition).await.unwrap()
    }

    /// The server loses everything that it had stored.
    pub(crate) async fn lose_the_stream(&mut self) {
        let before = self.bus.events_created_ms();
        self.nats.kill();
        self.nats.wipe_data().unwrap();
        self.nats.start().unwrap();
        gengfu_integration_tests::eventually!(self.bus.is_ready() && self.bus.events_created_ms() != before);
    }
}

/// A task of the partition `number` modulo the partitions.
fn task(number: u8) -> NewTask {
    NewTask {
        id: TaskId::new(1_764_460_800_000, [number; 10]),
        task_type: "a.b".into(),
        pool: "default".into(),
        tier: Tier::Normal,
        payload: Bytes::from_static(b"{}"),
        payload_sha256: [number; 32],
        idempotency_key: String::new(),
        key_window_ms: 0,
        delay_ms: 0,
        at: 0,
        expire_after_ms: 0,
        max_retry: 1,
        max_lost: 3,
        run_timeout_ms: 60_000,
        schedule_id: String::new(),
        planned_at: 0,
        batch_id: None,
        batch_row: 0,
        parent_id: None,
        sampled: true,
        trace_link: String::new(),
        rejected: None,
        direct: false,
    }
}
