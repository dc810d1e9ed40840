//! A store behind sentinels: it finds the master, and after a failover the next one with all that was replicated.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use bytes::Bytes;
use domain::TaskId;
use gengfu_integration_tests::{RedisSentinels, Reply, eventually};
use gengfu_store_redis::{Config, RedisStore};
use store::suite::new_task::plain;
use store::{Admitted, Error, NewTask, Origin, TaskStore};

const FAILOVER_LIMIT: Duration = Duration::from_secs(60);

fn task(n: u8) -> NewTask {
    NewTask {
        task_type: "a.b".into(),
        pool: "default".into(),
        payload: Bytes::from_static(b"{}"),
        payload_sha256: [n; 32],
        max_retry: 1,
        run_timeout_ms: 1_000,
        sampled: true,
        ..plain(TaskId::new(1_764_460_800_000, [n; 10]))
    }
}

async fn admit(store: &RedisStore, task: &NewTask) -> Result<Admitted, Error> {
    let (partition, nonce) = (
        task.id.partition(store.partitions()),
        [task.payload_sha256[0]; 16],
    );
    let tasks = std::slice::from_ref(task);
    let mut reply = store.admit(partition, nonce, &Origin::default(), tasks).await?;
    Ok(reply.items.remove(0))
}

#[tokio::test]
async fn the_store_follows_the_master() {
    let mut servers = RedisSentinels::start_new().unwrap();
    let config = Config {
        url: servers.url(),
        timeout: Duration::from_secs(2),
        ..Config::default()
    };
    let store = RedisStore::open(&config).await.unwrap();
    let (before, after) = (task(1), task(2));
    assert!(matches!(
        admit(&store, &before).await,
        Ok(Admitted::Created { .. })
    ));
    let replica = servers.replica();
    eventually!({
        let keys = replica.connect().unwrap().call(&["KEYS", "*:t:*"]).unwrap();
        matches!(keys, Reply::List(keys) if keys.len() == 1)
    });
    servers.kill_master();
    let admitted = eventually!(within FAILOVER_LIMIT, admit(&store, &after).await);
    assert!(matches!(
        admitted,
        Admitted::Created { .. } | Admitted::Existing { .. }
    ));
    for task in [before, after] {
        let found = store.get(task.id).await.unwrap();
        assert_eq!(found.unwrap().task.id, task.id);
    }
}

#[tokio::test]
async fn a_master_that_no_sentinel_knows_is_waited_for() {
    let servers = RedisSentinels::start_new().unwrap();
    let url = servers.url().replace("/town", "/village");
    let config = Config {
        url,
        timeout: Duration::from_secs(2),
        ..Config::default()
    };
    let refused = RedisStore::open(&config).await.err();
    assert!(matches!(refused, Some(Error::Unavailable(_))), "{refused:?}");
}
