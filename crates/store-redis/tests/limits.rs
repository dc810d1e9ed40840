//! What the configuration limits, on a real Redis: the time of a call, and the memory that admission may fill.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use gengfu_integration_tests::RedisServer;
use gengfu_store_redis::{Config, RedisStore};
use store::{Error, Origin, TaskStore};

async fn open(redis: &RedisServer, config: Config) -> Arc<RedisStore> {
    let url = redis.url();
    RedisStore::open(&Config { url, ..config }).await.unwrap()
}

#[tokio::test]
async fn a_call_ends_after_the_configured_time() {
    let redis = RedisServer::start_new().unwrap();
    let timeout = Duration::from_millis(100);
    let store = open(
        &redis,
        Config {
            timeout,
            ..Config::default()
        },
    )
    .await;
    redis.pause();
    // Far less than the time of a call that nobody configured.
    let answer = tokio::time::timeout(Config::default().timeout / 2, store.ping()).await;
    redis.resume();
    assert!(matches!(answer, Ok(Err(Error::Unavailable(_)))), "{answer:?}");
}

#[tokio::test]
async fn nothing_is_admitted_from_the_configured_share_of_the_memory() {
    let redis = RedisServer::start_with(&[("maxmemory", "20mb")]).unwrap();
    let admit = async |memory_percent| {
        let store = open(
            &redis,
            Config {
                memory_percent,
                ..Config::default()
            },
        )
        .await;
        store
            .admit(0, [memory_percent; 16], &Origin::default(), &[])
            .await
    };
    // An empty server takes about a mebibyte.
    let Err(Error::Full(reason)) = admit(1).await else {
        panic!("1 % is far exceeded")
    };
    assert!(reason.contains("nothing is admitted from 1 %"), "{reason}");
    assert!(admit(85).await.is_ok());
}
