//! The memory of a real Redis is full (`maxmemory`), while others go on submitting: nothing is admitted, and all that
//! ends, renews or shrinks goes on.
#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use domain::{ErrorClass, Status, Stop, TaskId, Tier, Token};
use gengfu_integration_tests::{RedisServer, eventually};
use gengfu_store_redis::{Config, RedisStore};
use store::suite::new_task::plain;
use store::{
    Claim, ClaimItem, Claimed, Dispatch, Error, Failure, Finish, Heartbeat, NewTask, Nonce, Operation,
    Origin, Reply, Retention, TaskStore, Verdict,
};
use tokio::task::JoinSet;

const WORKING: u8 = 8;
const FLOODERS: u64 = 4;
/// Of a claim that nobody renews. After a silence of half of it nothing is reclaimed, and a silence is known to a quarter
/// of a second.
const LEASE_MS: i64 = 1_000;
const RETENTION: Retention = Retention {
    success_ms: -1,
    cancelled_ms: -1,
    dead_ms: -1,
    count: 0,
};

fn task(n: u64, task_type: &str, payload: usize) -> NewTask {
    let mut random = [0; 10];
    random[..8].copy_from_slice(&n.to_be_bytes());
    NewTask {
        task_type: task_type.into(),
        pool: task_type.into(),
        payload: vec![7; payload].into(),
        payload_sha256: [7; 32],
        ..plain(TaskId::new(1_764_460_800_000, random))
    }
}

/// A task and the token of its claim.
type Lease = (TaskId, Token);

/// A store that others fill without rest.
struct Full {
    store: Arc<RedisStore>,
    refused: Arc<AtomicU64>,
    /// What the others have stored.
    stored: Arc<Mutex<Vec<TaskId>>>,
    flood: JoinSet<()>,
    nonces: AtomicU64,
}

impl Full {
    fn new(store: Arc<RedisStore>) -> Self {
        let (refused, stored) = (Arc::default(), Arc::default());
        let mut flood = JoinSet::new();
        for flooder in 0..FLOODERS {
            flood.spawn(submit_for_ever(
                Arc::clone(&store),
                flooder,
                Arc::clone(&refused),
                Arc::clone(&stored),
            ));
        }
        let nonces = AtomicU64::new(1);
        Self {
            store,
            refused,
            stored,
            flood,
            nonces,
        }
    }

    /// The store, once it has refused somebody again: memory is full now.
    async fn now(&self) -> &RedisStore {
        let before = self.refused.load(Relaxed);
        eventually!(self.refused.load(Relaxed) > before);
        &self.store
    }

    fn nonce(&self) -> Nonce {
        u128::from(self.nonces.fetch_add(1, Relaxed)).to_be_bytes()
    }

    async fn dispatch(&self) -> usize {
        let ask = Dispatch {
            pool: "work".into(),
            tier: Tier::Normal,
            limit: 64,
            oldest: false,
            types: vec!["work".into()],
        };
        self.now()
            .await
            .dispatch(0, self.nonce(), &ask)
            .await
            .unwrap()
            .tasks
            .len()
    }

    async fn claim(&self, ids: &[TaskId], lease_ms: i64) -> Vec<Lease> {
        let item = |id: &TaskId| ClaimItem {
            id: *id,
            effective_tier: Tier::Normal,
            random: [1; 8],
        };
        let claim = Claim {
            executor_id: "e".into(),
            lease_ms,
            items: ids.iter().map(item).collect(),
        };
        let reply = self
            .now()
            .await
            .claim(0, self.nonce(), &Origin::default(), &claim)
            .await
            .unwrap();
        let lease = |claimed| match claimed {
            Claimed::Run { task, .. } => (task.id, task.lease_token.unwrap()),
            other => panic!("{other:?}"),
        };
        reply.items.into_iter().map(lease).collect()
    }

    async fn operate(&self, operation: Operation, id: TaskId) -> Status {
        let origin = Origin::default();
        status(
            self.now()
                .await
                .operate(0, self.nonce(), &origin, operation, &[id])
                .await,
        )
    }

    async fn stopped(&self, lease: Lease) -> Status {
        status(
            self.now()
                .await
                .stopped(0, self.nonce(), &Origin::default(), &[lease])
                .await,
        )
    }

    async fn heartbeat(&self, lease: Lease) -> Heartbeat {
        self.now()
            .await
            .heartbeat(0, self.nonce(), 60_000, &[lease])
            .await
            .unwrap()
            .remove(0)
    }

    async fn fail(&self, (id, token): Lease, class: ErrorClass) -> Status {
        let failure = Failure {
            id,
            token,
            class,
            code: "code".into(),
            error: "e".repeat(8_000),
            output: vec![1; 8_000].into(),
            delay_ms: 0,
        };
        status(
            self.now()
                .await
                .fail(0, self.nonce(), &Origin::default(), &[failure])
                .await,
        )
    }

    /// Records whatever waits in the outbox, takes it out, and removes what has ended; how many tasks left.
    async fn shrink(&self) -> usize {
        let entries = self.store.outbox(0, -1_000, 10_000).await.unwrap();
        let events: Vec<_> = entries.iter().flat_map(|entry| entry.events.clone()).collect();
        for events in events.chunks(store::BATCH_MAX) {
            let position = self.nonces.fetch_add(1, Relaxed);
            self.store.record(0, 1, position, events).await.unwrap();
        }
        for entries in entries.chunks(256) {
            let ids: Vec<_> = entries.iter().map(|entry| entry.id.clone()).collect();
            self.store.outbox_remove(0, &ids).await.unwrap();
        }
        let mut left = 0;
        loop {
            let removed = self.store.retain(0, self.nonce(), &RETENTION).await.unwrap();
            left += removed.tasks;
            if !removed.more {
                return left;
            }
        }
    }
}

/// Submits tasks of 32 KiB, one after the other; each is stored, or refused with the reason.
async fn submit_for_ever(
    store: Arc<RedisStore>,
    flooder: u64,
    refused: Arc<AtomicU64>,
    stored: Arc<Mutex<Vec<TaskId>>>,
) {
    for n in 1.. {
        let n = n * FLOODERS + flooder;
        let nonce = (u128::from(n) << 64).to_be_bytes();
        let one = task(1_000 + n, "flood", 32 << 10);
        match store
            .admit(0, nonce, &Origin::default(), std::slice::from_ref(&one))
            .await
        {
            Ok(_) => stored.lock().unwrap().push(one.id),
            Err(Error::Full(reason)) => {
                assert!(reason.contains("the memory of Redis is"), "{reason}");
                refused.fetch_add(1, Relaxed);
            }
            Err(error) => panic!("{error:?}"),
        }
    }
}

fn status(reply: Result<Reply<Verdict>, Error>) -> Status {
    reply.unwrap().items.remove(0).unwrap().0
}

/// A store with some tasks to work on, whose memory then fills.
async fn full(redis: &RedisServer, memory_percent: u8) -> (Full, Vec<TaskId>) {
    let config = Config {
        url: redis.url(),
        partitions: 1,
        memory_percent,
        ..Config::default()
    };
    let store = RedisStore::open(&config).await.unwrap();
    let work: Vec<_> = (0..WORKING).map(|n| task(n.into(), "work", 100)).collect();
    store.admit(0, [9; 16], &Origin::default(), &work).await.unwrap();
    (Full::new(store), work.into_iter().map(|task| task.id).collect())
}

#[tokio::test]
async fn with_full_memory_all_that_ends_renews_or_shrinks_goes_on() {
    let redis = RedisServer::start_with(&[("maxmemory", "12mb")]).unwrap();
    // No limit of our own: the server's is what is reached.
    let (full, ids) = full(&redis, u8::MAX).await;

    assert_eq!(full.dispatch().await, ids.len());
    let back = full.now().await.undispatch(0, full.nonce(), &ids).await.unwrap();
    assert_eq!((back.count, full.dispatch().await), (ids.len(), ids.len()));
    let leases = full.claim(&ids[1..], 60_000).await;
    let [done, retried, dead, handed_back, cancelled, reset, ..] = leases[..] else {
        panic!("{leases:?}")
    };
    assert_eq!(full.heartbeat(done).await, Heartbeat::Renewed);

    let finish = Finish {
        id: done.0,
        token: done.1,
        result: vec![2; 8_000].into(),
        output: Bytes::new(),
    };
    let origin = Origin::default();
    assert_eq!(
        status(
            full.now()
                .await
                .complete(0, full.nonce(), &origin, &[finish])
                .await
        ),
        Status::Success
    );
    assert_eq!(full.fail(retried, ErrorClass::Transient).await, Status::Retrying);
    assert_eq!(
        full.now().await.release_due(0, full.nonce()).await.unwrap().count,
        1
    );
    assert_eq!(full.fail(dead, ErrorClass::Deterministic).await, Status::Dead);
    let back = full
        .now()
        .await
        .hand_back(0, full.nonce(), &origin, &[handed_back])
        .await;
    assert_eq!(status(back), Status::Pending);

    people_act(&full, cancelled, reset, dead.0).await;

    // An executor vanishes.
    full.claim(&ids[..1], LEASE_MS).await;
    let reclaimed = eventually!({
        let reply = full
            .now()
            .await
            .reclaim(0, full.nonce(), &origin, LEASE_MS)
            .await
            .unwrap();
        reply
            .items
            .into_iter()
            .find_map(|(id, verdict)| verdict.ok().map(|(status, _)| (id, status)))
    });
    assert_eq!(reclaimed, (ids[0], Status::Pending));
    assert!(full.now().await.hold("duty", "me", 1_000).await.unwrap());
    full.now().await;
    assert_eq!(full.shrink().await, 2, "the success and the cancelled one leave");
    assert_eq!(full.now().await.sweep(0, full.nonce()).await.unwrap(), []);
}

/// What operators ask of two running tasks and of a dead one.
async fn people_act(full: &Full, cancelled: Lease, reset: Lease, dead: TaskId) {
    assert_eq!(
        full.operate(Operation::Cancel, cancelled.0).await,
        Status::Running
    );
    assert_eq!(full.heartbeat(cancelled).await, Heartbeat::Stop(Stop::Cancel));
    assert_eq!(full.stopped(cancelled).await, Status::Cancelled);
    assert_eq!(
        full.operate(Operation::Reset { max_retry: None }, reset.0).await,
        Status::Running
    );
    assert_eq!(full.stopped(reset).await, Status::Pending);
    assert_eq!(
        full.operate(Operation::Retry { max_retry: None }, dead).await,
        Status::Pending
    );
    let set = Operation::Set {
        max_retry: Some(9),
        next_run_time: None,
        run_timeout_ms: None,
    };
    assert_eq!(full.operate(set, dead).await, Status::Pending);
}

#[tokio::test]
async fn what_leaves_makes_room_for_new_tasks() {
    let redis = RedisServer::start_with(&[("maxmemory", "12mb")]).unwrap();
    let (mut full, _) = full(&redis, 85).await;
    full.now().await;
    full.flood.shutdown().await;
    let stored = full.stored.lock().unwrap().clone();
    let (origin, one) = (Origin::default(), task(1, "late", 32 << 10));
    for ids in stored[..stored.len() / 2].chunks(store::BATCH_MAX) {
        let cancelled = full
            .store
            .operate(0, full.nonce(), &origin, Operation::Cancel, ids)
            .await;
        assert!(cancelled.unwrap().items.iter().all(Result::is_ok));
    }
    assert_eq!(full.shrink().await, stored.len() / 2);
    // How full it is is looked at once a second.
    eventually!(
        full.store
            .admit(0, full.nonce(), &origin, std::slice::from_ref(&one))
            .await
    );
}
