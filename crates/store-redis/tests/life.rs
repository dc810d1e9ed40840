//! The life of a task on a real Redis: admitted, dispatched, claimed, failed, retried, completed, recorded, removed.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use bytes::Bytes;
use domain::{ErrorClass, Status, TaskId, Tier, TypeSpec, check_timeline};
use gengfu_integration_tests::RedisServer;
use gengfu_store_redis::{Config, RedisStore};
use store::suite::new_task::plain;
use store::{
    Admitted, Claim, ClaimItem, Claimed, Dispatch, Failure, Finish, Heartbeat, Hint, NewTask, Operation,
    Origin, Page, Retention, TaskFilter, TaskStore,
};

async fn open(redis: &RedisServer) -> Arc<RedisStore> {
    RedisStore::open(&Config {
        url: redis.url(),
        partitions: 4,
        outbox_max: 1_000,
        ..Config::default()
    })
    .await
    .unwrap()
}

fn nonce(n: u8) -> [u8; 16] {
    [n; 16]
}

fn origin() -> Origin {
    Origin {
        actor: "test".into(),
        node: "here".into(),
        reason: String::new(),
    }
}

fn task(n: u8) -> NewTask {
    let key = format!("k{n}");
    NewTask {
        task_type: "a.b".into(),
        pool: "default".into(),
        payload: Bytes::from_static(b"\0\xff{9007199254740993}\xf0\x9f"),
        payload_sha256: [n; 32],
        idempotency_key: key.clone(),
        max_retry: 1,
        run_timeout_ms: 1_000,
        batch_id: Some(TaskId::new(1, [8; 10])),
        batch_row: n.into(),
        sampled: true,
        ..plain(TaskId::keyed(1_764_460_800_000, [n; 10], "a.b", &key))
    }
}

fn ask(limit: usize) -> Dispatch {
    Dispatch {
        pool: "default".into(),
        tier: Tier::Normal,
        limit,
        oldest: false,
        types: vec!["a.b".into()],
    }
}

async fn claim(store: &RedisStore, id: TaskId, n: u8) -> Claimed {
    let items = vec![ClaimItem {
        id,
        effective_tier: Tier::Normal,
        random: [n; 8],
    }];
    let claim = Claim {
        executor_id: "e1".into(),
        lease_ms: 30_000,
        items,
    };
    let first = store
        .claim(id.partition(4), nonce(n), &origin(), &claim)
        .await
        .unwrap();
    let again = store
        .claim(id.partition(4), nonce(n), &origin(), &claim)
        .await
        .unwrap();
    assert_eq!(first, again);
    first.items.into_iter().next().unwrap()
}

#[tokio::test]
async fn a_task_lives_its_whole_life() {
    let redis = RedisServer::start_new().unwrap();
    let store = open(&redis).await;
    let spec: TypeSpec = serde_json::from_str(r#"{"name":"a.b","handler":"echo"}"#).unwrap();
    assert_eq!(store.put_types(&[spec]).await.unwrap(), 1);
    let new = task(1);
    let (id, p) = (new.id, new.id.partition(4));

    let admitted = store
        .admit(p, nonce(1), &origin(), std::slice::from_ref(&new))
        .await
        .unwrap();
    assert_eq!(
        admitted.items,
        [Admitted::Created {
            id,
            status: Status::Pending,
            hint: Hint::Ready
        }]
    );
    assert_eq!(
        admitted,
        store
            .admit(p, nonce(1), &origin(), std::slice::from_ref(&new))
            .await
            .unwrap()
    );
    let same = NewTask {
        id: TaskId::keyed(5, [9; 10], "a.b", "k1"),
        ..new.clone()
    };
    let repeated = store
        .admit(p, nonce(2), &origin(), std::slice::from_ref(&same))
        .await
        .unwrap();
    assert_eq!(
        repeated.items,
        [Admitted::Existing {
            id,
            status: Status::Pending
        }]
    );
    let other = NewTask {
        payload_sha256: [0; 32],
        ..same
    };
    assert_eq!(
        store.admit(p, nonce(3), &origin(), &[other]).await.unwrap().items,
        [Admitted::Conflict { id }]
    );

    fail_once(&store, &new).await;
    complete(&store, id).await;
    look(&store, &new).await;
    record_and_remove(&store, id).await;
}

/// Dispatched, claimed, failed; a late word is refused.
async fn fail_once(store: &RedisStore, new: &NewTask) {
    let (id, p) = (new.id, new.id.partition(4));
    let dispatched = store.dispatch(p, nonce(4), &ask(5)).await.unwrap();
    assert_eq!(dispatched.tasks.iter().map(|t| t.0).collect::<Vec<_>>(), [id]);
    let Claimed::Run { task, payload } = claim(store, id, 5).await else {
        panic!()
    };
    assert_eq!(
        (task.attempt, task.status, payload),
        (1, Status::Running, new.payload.clone())
    );
    let token = task.lease_token.unwrap();
    assert_eq!(
        store
            .heartbeat(p, nonce(6), 30_000, &[(id, token)])
            .await
            .unwrap(),
        [Heartbeat::Renewed]
    );

    let fail = Failure {
        id,
        token,
        class: ErrorClass::Transient,
        code: "http_503".into(),
        error: "boom".into(),
        output: Bytes::from_static(b"log"),
        delay_ms: 0,
    };
    let failed = store
        .fail(p, nonce(7), &origin(), std::slice::from_ref(&fail))
        .await
        .unwrap();
    assert_eq!(failed.items, [Ok((Status::Retrying, 4))]);
    assert_eq!(failed.outbox.as_ref().unwrap().events.len(), 2);
    let late = store.fail(p, nonce(8), &origin(), &[fail]).await.unwrap();
    assert_eq!(late.items, [Err(domain::Rejection::Illegal)]);
    assert_eq!(
        store.output(id, None).await.unwrap(),
        Some((1, Bytes::from_static(b"log")))
    );
}

/// Due again, claimed again, done.
async fn complete(store: &RedisStore, id: TaskId) {
    let p = id.partition(4);
    let released = store.release_due(p, nonce(9)).await.unwrap();
    assert_eq!((released.count, released.queues.len()), (1, 1));
    assert_eq!(
        store.dispatch(p, nonce(10), &ask(5)).await.unwrap().tasks.len(),
        1
    );
    let Claimed::Run { task, .. } = claim(store, id, 11).await else {
        panic!()
    };
    let done = Finish {
        id,
        token: task.lease_token.unwrap(),
        result: Bytes::from_static(b"ok"),
        output: Bytes::new(),
    };
    let done = store.complete(p, nonce(12), &origin(), &[done]).await.unwrap();
    assert_eq!(done.items, [Ok((Status::Success, 6))]);
}

/// What it shows then.
async fn look(store: &RedisStore, new: &NewTask) {
    let id = new.id;
    let timeline = store.timeline(id).await.unwrap();
    assert_eq!((timeline.len(), check_timeline(&timeline)), (6, vec![]));
    let view = store.get(id).await.unwrap().unwrap();
    assert_eq!(
        (view.payload, view.result.as_ref()),
        (new.payload.clone(), b"ok".as_slice())
    );
    assert_eq!(domain::check_task(&view.task), []);
    let counts = store.batch(TaskId::new(1, [8; 10])).await.unwrap().unwrap();
    assert!(counts.finished() && counts.total == 1);
    let listed = store
        .list(
            &TaskFilter::default(),
            &Page {
                limit: 10,
                cursor: None,
            },
        )
        .await
        .unwrap();
    assert_eq!((listed.items.len(), listed.next), (1, None));
}

/// Every event counts once; only then the task leaves.
async fn record_and_remove(store: &RedisStore, id: TaskId) {
    let p = id.partition(4);
    let retention = Retention {
        success_ms: -1,
        cancelled_ms: 0,
        dead_ms: 0,
        count: 100,
    };
    assert_eq!(store.retain(p, nonce(20), &retention).await.unwrap().tasks, 0);
    let entries = store.outbox(p, -1_000, 100).await.unwrap();
    let events: Vec<_> = entries.iter().flat_map(|entry| entry.events.clone()).collect();
    assert_eq!(events.len(), 6);
    assert_eq!(store.record(p, 7, 3, &events).await.unwrap().fresh, 6);
    assert_eq!(store.record(p, 7, 3, &events).await.unwrap().fresh, 0);
    assert_eq!(store.record(p, 7, 9, &events).await.unwrap().repeated, 6);
    let hours = store.hours(0).await.unwrap();
    assert!(
        hours
            .iter()
            .any(|(_, field, count)| field == "a.b|success" && *count == 1),
        "{hours:?}"
    );
    store
        .outbox_remove(p, &entries.into_iter().map(|entry| entry.id).collect::<Vec<_>>())
        .await
        .unwrap();
    assert_eq!(store.stats(p).await.unwrap().outbox, 0);
    assert_eq!(store.sweep(p, nonce(22)).await.unwrap(), []);
    assert_eq!(store.retain(p, nonce(21), &retention).await.unwrap().tasks, 1);
    assert_eq!(store.get(id).await.unwrap(), None);
}

#[tokio::test]
async fn an_operator_stops_and_restarts() {
    let redis = RedisServer::start_new().unwrap();
    let store = open(&redis).await;
    let new = NewTask {
        direct: true,
        ..task(3)
    };
    let (id, p) = (new.id, new.id.partition(4));
    let admitted = store.admit(p, nonce(1), &origin(), &[new]).await.unwrap();
    assert!(matches!(
        admitted.items[0],
        Admitted::Created { hint: Hint::Work, .. }
    ));
    let Claimed::Run { task, .. } = claim(&store, id, 2).await else {
        panic!()
    };
    let leases = [(id, task.lease_token.unwrap())];
    let cancel = store
        .operate(p, nonce(3), &origin(), Operation::Cancel, &[id])
        .await
        .unwrap();
    assert_eq!(cancel.items, [Ok((Status::Running, 3))]);
    assert_eq!(
        store.heartbeat(p, nonce(4), 9_000, &leases).await.unwrap(),
        [Heartbeat::Stop(domain::Stop::Cancel)]
    );
    assert_eq!(
        store
            .stopped(p, nonce(5), &origin(), &leases)
            .await
            .unwrap()
            .items,
        [Ok((Status::Cancelled, 4))]
    );
    let again = store
        .operate(
            p,
            nonce(6),
            &origin(),
            Operation::Retry { max_retry: Some(9) },
            &[id],
        )
        .await
        .unwrap();
    assert_eq!(again.items, [Ok((Status::Pending, 5))]);
    assert_eq!(
        store
            .operate(p, nonce(7), &origin(), Operation::Cancel, &[id])
            .await
            .unwrap()
            .items,
        [Ok((Status::Cancelled, 6))]
    );
    assert_eq!(store.stats(p).await.unwrap().delayed, 0);
}
