//! A store on Redis, a NATS, and tasks in every status, all of it announced.

use std::{cell::Cell, sync::Arc, time::Duration};

use audit::{Audit, Report};
use domain::{ErrorClass, Millis, Status, TaskId, Tier, Token};
use gengfu_integration_tests::{NatsServer, RedisServer, Reply as Answer, Resp, eventually};
use messaging::{Announcer, Bus};
use sha2::{Digest, Sha256};
use store::{
    Claim, ClaimItem, Claimed, Dispatch, Failure, Finish, NewTask, Operation, Origin, OutboxEntry, PlanStore,
};
use store_redis::{Config, RedisStore};
use telemetry::Metrics;

/// Longest wait for anything.
const SOON: Duration = Duration::from_secs(20);
pub(crate) const PARTITION: u16 = 0;
pub(crate) const LEASE_MS: i64 = 600_000;

pub(crate) struct Town {
    pub(crate) store: Arc<dyn PlanStore>,
    pub(crate) bus: Bus,
    pub(crate) resp: Resp,
    announcer: Announcer,
    serial: Cell<u64>,
    _servers: (RedisServer, NatsServer),
}

/// A task in each status.
pub(crate) struct Tasks {
    pub(crate) delayed: TaskId,
    pub(crate) ready: TaskId,
    pub(crate) running: TaskId,
    pub(crate) done: TaskId,
    pub(crate) dead: TaskId,
    pub(crate) retrying: TaskId,
    pub(crate) cancelled: TaskId,
}

impl Town {
    pub(crate) async fn new() -> Self {
        let (redis, nats) = (
            RedisServer::start_new().unwrap(),
            NatsServer::start_new().unwrap(),
        );
        let config = Config {
            url: redis.url(),
            partitions: 1,
            ..Config::default()
        };
        let store: Arc<dyn PlanStore> = RedisStore::open(&config).await.unwrap();
        let bus = Bus::connect(messaging::Config {
            url: nats.url(),
            ..messaging::Config::default()
        });
        let bus = bus.await.unwrap();
        bus.wait_ready().await.unwrap();
        let announcer = Announcer::new(store.clone(), bus.publisher(), Metrics::new(), "test");
        let resp = redis.connect().unwrap();
        let town = Self {
            store,
            bus,
            resp,
            announcer,
            serial: Cell::new(0),
            _servers: (redis, nats),
        };
        // Of what happened within the first moment of a stream nobody knows whether another held it.
        let begins = town.bus.events_span().await.unwrap().created_ms;
        eventually!(town.store.ping().await.unwrap() > begins + 1_200);
        town
    }

    pub(crate) async fn audit(&self) -> Report {
        self.audit_since(None).await
    }

    pub(crate) async fn audit_since(&self, since: Option<Millis>) -> Report {
        let audit = Audit {
            store: self.store.clone(),
            bus: self.bus.clone(),
            since,
        };
        audit::run(&audit, |_, _| {}).await.unwrap()
    }

    /// Audits, and expects this exception, and none of another invariant unless it is named.
    pub(crate) async fn expect(&self, invariant: &str, words: &str) -> Report {
        let report = self.audit().await;
        let found = report
            .exceptions
            .iter()
            .any(|one| one.invariant == invariant && one.text.contains(words));
        assert!(found, "{invariant} {words:?} in {report:#?}");
        report
    }

    pub(crate) fn nonce(&self) -> [u8; 16] {
        self.serial.set(self.serial.get() + 1);
        let mut nonce = [9; 16];
        nonce[8..].copy_from_slice(&self.serial.get().to_be_bytes());
        nonce
    }

    pub(crate) fn origin() -> Origin {
        Origin {
            actor: "test".into(),
            node: "here".into(),
            reason: String::new(),
        }
    }

    pub(crate) fn announce(&self, entry: Option<OutboxEntry>) {
        self.announcer.announce(entry);
    }

    /// Waits until the stream has everything.
    pub(crate) async fn settle(&self) {
        assert!(self.announcer.flush(SOON).await);
        eventually!(self.store.outbox_after(PARTITION, None).await.unwrap().is_empty());
    }

    pub(crate) fn new_task(&self) -> NewTask {
        let (number, payload) = (self.nonce(), b"{\"n\":9007199254740993}\0\xff");
        let mut random = [1; 10];
        random.copy_from_slice(&number[6..]);
        NewTask {
            id: TaskId::new(1_764_460_800_000, random),
            task_type: "t".into(),
            pool: "default".into(),
            tier: Tier::Normal,
            payload: bytes::Bytes::from_static(payload),
            payload_sha256: Sha256::digest(payload).into(),
            idempotency_key: format!("key-{}", self.serial.get()),
            key_window_ms: 86_400_000,
            delay_ms: 0,
            at: 0,
            expire_after_ms: 0,
            max_retry: 3,
            max_lost: 3,
            run_timeout_ms: 60_000,
            schedule_id: String::new(),
            planned_at: 0,
            batch_id: None,
            batch_row: 0,
            parent_id: None,
            sampled: false,
            trace_link: String::new(),
            rejected: None,
            direct: false,
        }
    }

    pub(crate) async fn admit(&self, task: NewTask) -> TaskId {
        let id = task.id;
        let reply = self
            .store
            .admit(PARTITION, self.nonce(), &Self::origin(), &[task])
            .await;
        self.announce(reply.unwrap().outbox);
        id
    }

    pub(crate) async fn run(&self) -> (TaskId, Token) {
        let id = self.admit(self.new_task()).await;
        let ask = Dispatch {
            pool: "default".into(),
            tier: Tier::Normal,
            limit: 64,
            oldest: false,
            types: vec!["t".into()],
        };
        self.store.dispatch(PARTITION, self.nonce(), &ask).await.unwrap();
        let item = ClaimItem {
            id,
            effective_tier: Tier::Normal,
            random: self.nonce()[8..].try_into().unwrap(),
        };
        let claim = Claim {
            executor_id: "executor-7".into(),
            lease_ms: LEASE_MS,
            items: vec![item],
        };
        let reply = self
            .store
            .claim(PARTITION, self.nonce(), &Self::origin(), &claim)
            .await
            .unwrap();
        self.announce(reply.outbox);
        match &reply.items[0] {
            Claimed::Run { task, .. } => (id, task.lease_token.unwrap()),
            other => panic!("{other:?}"),
        }
    }

    async fn fail(&self, class: ErrorClass) -> TaskId {
        let (id, token) = self.run().await;
        let end = Failure {
            id,
            token,
            class,
            code: "http_503".into(),
            error: "no".into(),
            output: bytes::Bytes::new(),
            delay_ms: 3_600_000,
        };
        let reply = self
            .store
            .fail(PARTITION, self.nonce(), &Self::origin(), &[end])
            .await
            .unwrap();
        self.announce(reply.outbox);
        id
    }

    pub(crate) async fn done(&self) -> TaskId {
        let (id, token) = self.run().await;
        let end = Finish {
            id,
            token,
            result: b"r".as_slice().into(),
            output: bytes::Bytes::new(),
        };
        let reply = self
            .store
            .complete(PARTITION, self.nonce(), &Self::origin(), &[end])
            .await
            .unwrap();
        self.announce(reply.outbox);
        id
    }

    pub(crate) async fn operate(&self, id: TaskId, operation: Operation) -> Option<OutboxEntry> {
        let reply = self
            .store
            .operate(PARTITION, self.nonce(), &Self::origin(), operation, &[id])
            .await
            .unwrap();
        reply.items[0].as_ref().unwrap();
        reply.outbox
    }

    /// A task in each status, announced.
    pub(crate) async fn tasks(&self) -> Tasks {
        let (running, _) = self.run().await;
        let (given_back, token) = self.run().await;
        let reply = self
            .store
            .hand_back(PARTITION, self.nonce(), &Self::origin(), &[(given_back, token)])
            .await;
        self.announce(reply.unwrap().outbox);
        let tasks = Tasks {
            running,
            done: self.done().await,
            dead: self.fail(ErrorClass::Deterministic).await,
            retrying: self.fail(ErrorClass::Transient).await,
            cancelled: self.admit(self.new_task()).await,
            delayed: self
                .admit(NewTask {
                    delay_ms: 3_600_000,
                    ..self.new_task()
                })
                .await,
            ready: self.admit(self.new_task()).await,
        };
        let cancelled = self.operate(tasks.cancelled, Operation::Cancel).await;
        self.announce(cancelled);
        self.settle().await;
        let status = self.store.get(tasks.retrying).await.unwrap().unwrap().task.status;
        assert_eq!(status, Status::Retrying);
        tasks
    }

    /// Runs a command of Redis.
    pub(crate) fn call(&mut self, arguments: &[&[u8]]) -> Answer {
        self.resp.call(arguments).unwrap()
    }

    /// Changes the header `h` or the timeline `l` of a task by a few lines of Lua.
    pub(crate) fn edit(&mut self, id: TaskId, lua: &str) {
        let script = format!(
            "local h = cmsgpack.unpack(redis.call('HGET', KEYS[1], 'h'))
             local l = redis.call('HGET', KEYS[1], 'l')
             {lua}
             redis.call('HSET', KEYS[1], 'h', cmsgpack.pack(h), 'l', l)"
        );
        self.call(&[b"EVAL", script.as_bytes(), b"1", &key_of(id)]);
    }
}

/// The key of a task.
pub(crate) fn key_of(id: TaskId) -> Vec<u8> {
    [b"{gf:00}:t:".as_slice(), id.as_bytes()].concat()
}
