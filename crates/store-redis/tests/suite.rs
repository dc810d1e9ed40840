//! The conformance suite of the store seam, on real servers: Redis, Valkey, and a Redis Cluster of three nodes.
#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use gengfu_integration_tests::{RedisCluster, RedisServer, ValkeyServer};
use gengfu_store_redis::{Config, RedisStore};
use store::PlanStore;
use store::suite::Harness;

/// Servers of its own for each harness, their clock moved by an offset.
struct Servers<S> {
    /// The address of the whole.
    url: String,
    /// The address of each server, to empty it.
    nodes: Vec<String>,
    store: Mutex<Option<Arc<RedisStore>>>,
    offset: AtomicI64,
    _running: S,
}

impl<S> Servers<S> {
    fn new(running: S, url: String, nodes: Vec<String>) -> Self {
        Self {
            url,
            nodes,
            store: Mutex::default(),
            offset: AtomicI64::new(0),
            _running: running,
        }
    }
}

fn redis_7() -> Servers<RedisServer> {
    let server = RedisServer::start_new().unwrap();
    let url = server.url();
    Servers::new(server, url.clone(), vec![url])
}

fn valkey_9() -> Servers<ValkeyServer> {
    let server = ValkeyServer::start_new().unwrap();
    let url = server.url();
    Servers::new(server, url.clone(), vec![url])
}

fn cluster() -> Servers<RedisCluster> {
    let servers = RedisCluster::start_new().unwrap();
    let (url, nodes) = (servers.url(), servers.node_urls());
    Servers::new(servers, url, nodes)
}

#[async_trait]
impl<S: Send + Sync> Harness for Servers<S> {
    async fn fresh(&self) -> Arc<dyn PlanStore> {
        self.lose().await;
        self.offset.store(0, Ordering::SeqCst);
        let config = Config {
            url: self.url.clone(),
            partitions: 4,
            outbox_max: 100_000,
            ..Config::default()
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

    async fn lose(&self) {
        for node in &self.nodes {
            let client = redis::Client::open(node.as_str()).unwrap();
            let mut connection = client.get_multiplexed_async_connection().await.unwrap();
            redis::cmd("FLUSHALL")
                .query_async::<()>(&mut connection)
                .await
                .unwrap();
        }
    }
}

store::task_store_suite!(redis_7());

#[tokio::test]
async fn the_suite_holds_on_valkey() {
    store::suite::all(&valkey_9()).await;
}

#[tokio::test]
async fn the_suite_holds_on_a_cluster() {
    store::suite::all(&cluster()).await;
}
