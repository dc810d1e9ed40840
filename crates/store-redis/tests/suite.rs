//! The conformance suite of the store seam, on a real Redis.
#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use gengfu_integration_tests::RedisServer;
use gengfu_store_redis::{Config, RedisStore};
use store::TaskStore;
use store::suite::Harness;

/// A server of its own for each case, its clock moved by an offset.
struct Redis {
    server: RedisServer,
    store: Mutex<Option<Arc<RedisStore>>>,
    offset: AtomicI64,
}

impl Redis {
    fn start() -> Self {
        let server = RedisServer::start_new().unwrap();
        Self {
            server,
            store: Mutex::default(),
            offset: AtomicI64::new(0),
        }
    }
}

#[async_trait]
impl Harness for Redis {
    async fn fresh(&self) -> Arc<dyn TaskStore> {
        let client = redis::Client::open(self.server.url()).unwrap();
        let mut connection = client.get_multiplexed_async_connection().await.unwrap();
        redis::cmd("FLUSHALL")
            .query_async::<()>(&mut connection)
            .await
            .unwrap();
        self.offset.store(0, Ordering::SeqCst);
        let config = Config {
            url: self.server.url(),
            partitions: 4,
            outbox_max: 100_000,
        };
        let store = RedisStore::open(&config).await.unwrap();
        *self.store.lock().unwrap() = Some(Arc::clone(&store));
        store
    }

    async fn advance(&self, ms: i64) {
        let offset = self.offset.fetch_add(ms, Ordering::SeqCst) + ms;
        let store = self.store.lock().unwrap().clone().unwrap();
        store.set_clock_offset(offset).await.unwrap();
    }
}

store::task_store_suite!(Redis::start());
