//! A store, a server and schedulers of one test.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use domain::{Status, TaskId, Tier, Token};
use gengfu_integration_tests::NatsServer;
use messaging::{Announcer, Bus, Config, ReadyPuller};
use proto::ReadyHint;
use runtime::{Drained, Health, Shutdown};
use store::{
    Claim, ClaimItem, Claimed, Clock, Dispatch, Finish, Model, NewTask, Origin, Retention, TaskStore,
};
use telemetry::Metrics;
use tokio::task::JoinHandle;

pub(crate) const NOW: i64 = 1_764_460_800_000;
pub(crate) const LEASE_MS: i64 = 3_000;
pub(crate) const PARTITIONS: u16 = 4;
/// Longest wait for anything.
pub(crate) const SOON: Duration = Duration::from_secs(20);

pub(crate) struct Town {
    pub(crate) nats: NatsServer,
    pub(crate) store: Arc<Model>,
    pub(crate) bus: Bus,
    calls: u8,
}

/// A scheduler that runs.
pub(crate) struct Running {
    pub(crate) metrics: Metrics,
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
    pub(crate) async fn new(clock: Clock) -> Self {
        let nats = NatsServer::start_new().unwrap();
        let bus = Bus::connect(Config {
            url: nats.url(),
            ..Config::default()
        })
        .await
        .unwrap();
        bus.wait_ready().await.unwrap();
        Self {
            nats,
            store: Arc::new(Model::new(PARTITIONS, clock)),
            bus,
            calls: 0,
        }
    }

    pub(crate) async fn standing() -> Self {
        Self::new(Clock::standing(NOW)).await
    }

    /// A scheduler on this store and server, in a hurry.
    pub(crate) fn start(&self, node: &str) -> Running {
        self.start_with(node, Duration::from_millis(10))
    }

    /// The same, but that looks for due tasks only so often.
    pub(crate) fn start_with(&self, node: &str, release_every: Duration) -> Running {
        self.start_as(node, |config| config.release_every = release_every)
    }

    /// The same, but for what is changed.
    pub(crate) fn start_as(&self, node: &str, change: impl FnOnce(&mut scheduler::Config)) -> Running {
        let (metrics, health, shutdown) = (Metrics::new(), Health::new(), Shutdown::new());
        let store: Arc<dyn TaskStore> = self.store.clone();
        let parts = scheduler::Parts {
            types: admission::Types::new(Arc::clone(&store)),
            announcer: Announcer::new(Arc::clone(&store), self.bus.publisher(), metrics.clone(), node),
            store: self.store.clone(),
            bus: self.bus.clone(),
            metrics: metrics.clone(),
            health: health.clone(),
        };
        let retention = Retention {
            success_ms: 1_000,
            cancelled_ms: 1_000,
            dead_ms: 1_000,
            count: 1_000,
        };
        let lease = Duration::from_millis(LEASE_MS.unsigned_abs());
        let mut config = scheduler::Config {
            release_every: Duration::from_millis(10),
            fire_every: Duration::from_millis(10),
            reclaim_every: Duration::from_millis(10),
            outbox_every: Duration::from_millis(10),
            retain_every: Duration::from_millis(10),
            sweep_every: Duration::from_millis(10),
            gauges_every: Duration::from_millis(50),
            follow_every: Duration::from_millis(10),
            ..scheduler::Config::new(node, lease, retention)
        };
        change(&mut config);
        let run = tokio::spawn(scheduler::run(config, parts, shutdown.clone()));
        Running {
            metrics,
            health,
            shutdown,
            run,
        }
    }

    pub(crate) fn nonce(&mut self) -> [u8; 16] {
        self.calls += 1;
        [self.calls; 16]
    }

    /// Admits a task that is due after `delay_ms`, into the partition `number` modulo the partitions; its events stay
    /// in the outbox.
    pub(crate) async fn admit(&mut self, number: u8, delay_ms: i64) -> TaskId {
        let new = task(TaskId::new(NOW, [number; 10]), delay_ms);
        let id = new.id;
        self.admit_all(vec![new]).await;
        id
    }

    /// Admits this very task; its events stay in the outbox.
    pub(crate) async fn admit_new(&mut self, new: NewTask) {
        self.admit_all(vec![new]).await;
    }

    /// Admits `count` tasks of partition 0.
    pub(crate) async fn admit_many(&mut self, count: i64, delay_ms: i64) {
        let tasks: Vec<_> = (0..count)
            .map(|n| task(TaskId::new(NOW + n, [4; 10]), delay_ms))
            .collect();
        for batch in tasks.chunks(store::BATCH_MAX) {
            self.admit_all(batch.to_vec()).await;
        }
    }

    async fn admit_all(&mut self, tasks: Vec<NewTask>) {
        let nonce = self.nonce();
        let partition = partition(tasks[0].id);
        self.store
            .admit(partition, nonce, &Origin::default(), &tasks)
            .await
            .unwrap();
    }

    /// Dispatches and claims a task that is ready.
    pub(crate) async fn claim(&mut self, id: TaskId) -> Token {
        let ask = Dispatch {
            pool: "default".into(),
            tier: Tier::Normal,
            limit: 8,
            oldest: false,
            types: vec!["a.b".into()],
        };
        let (first, second) = (self.nonce(), self.nonce());
        self.store.dispatch(partition(id), first, &ask).await.unwrap();
        let items = vec![ClaimItem {
            id,
            effective_tier: Tier::Normal,
            random: [1; 8],
        }];
        let claim = Claim {
            executor_id: "e1".into(),
            lease_ms: LEASE_MS,
            items,
        };
        let reply = self
            .store
            .claim(partition(id), second, &Origin::default(), &claim)
            .await
            .unwrap();
        match reply.items.into_iter().next() {
            Some(Claimed::Run { task, .. }) => task.lease_token.unwrap(),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn complete(&mut self, id: TaskId) {
        let token = self.claim(id).await;
        let end = Finish {
            id,
            token,
            result: Bytes::new(),
            output: Bytes::new(),
        };
        let nonce = self.nonce();
        let reply = self
            .store
            .complete(partition(id), nonce, &Origin::default(), &[end])
            .await
            .unwrap();
        assert!(reply.items[0].is_ok());
    }

    pub(crate) async fn status(&self, id: TaskId) -> Status {
        self.store.get(id).await.unwrap().unwrap().task.status
    }

    /// Takes what was published of one partition out of its outbox, as an announcer would.
    pub(crate) async fn forget_outbox(&self, id: TaskId) {
        let entries = self.store.outbox(partition(id), 0, 1_000).await.unwrap();
        let ids: Vec<_> = entries.into_iter().map(|entry| entry.id).collect();
        self.store.outbox_remove(partition(id), &ids).await.unwrap();
    }
}

pub(crate) fn partition(id: TaskId) -> u16 {
    id.partition(PARTITIONS)
}

/// The next ready hint.
pub(crate) async fn hint(hints: &mut ReadyPuller) -> ReadyHint {
    loop {
        let batch = tokio::time::timeout(SOON, hints.next_batch(1)).await.unwrap();
        if let Some(message) = batch.into_iter().next() {
            message.ack().await.unwrap();
            return message.hint;
        }
    }
}

pub(crate) fn task(id: TaskId, delay_ms: i64) -> NewTask {
    NewTask {
        id,
        task_type: "a.b".into(),
        pool: "default".into(),
        tier: Tier::Normal,
        payload: Bytes::from_static(b"{}"),
        payload_sha256: [1; 32],
        idempotency_key: String::new(),
        key_window_ms: 0,
        delay_ms,
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
