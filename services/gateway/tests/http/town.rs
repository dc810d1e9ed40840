//! A gateway on a free port, with a store in memory and a NATS that is away unless a test brings one.

use std::{net::SocketAddr, sync::Arc};

use domain::{ErrorClass, Partition, Status, TaskId};
use gengfu_gateway::{Gateway, Parts};
use gengfu_integration_tests::{Answer, Api};
use messaging::Bus;
use runtime::{Config, Health, Shutdown};
use serde_json::{Value, json};
use store::{Claim, ClaimItem, Claimed, Clock, Dispatch, Failure, Finish, Model, Origin, TaskStore};
use telemetry::Metrics;
use tokio::task::JoinHandle;

/// Partitions of the store; more than one, so that grouping matters.
pub(crate) const PARTITIONS: u16 = 4;

pub(crate) struct Town {
    pub(crate) api: Api,
    pub(crate) store: Arc<Model>,
    pub(crate) health: Health,
    pub(crate) address: SocketAddr,
    nonce: std::cell::Cell<u64>,
    shutdown: Shutdown,
    running: JoinHandle<Result<(), gengfu_gateway::Error>>,
}

impl Drop for Town {
    fn drop(&mut self) {
        self.shutdown.trigger();
        self.running.abort();
    }
}

/// What a test starts a gateway with.
pub(crate) fn config() -> Config {
    Config {
        listen: "127.0.0.1:0".into(),
        ..Config::default()
    }
}

pub(crate) async fn parts(nats: &str) -> Parts {
    let bus = Bus::connect(messaging::Config {
        url: nats.into(),
        ..messaging::Config::default()
    });
    Parts {
        bus: bus.await.unwrap(),
        metrics: Metrics::new(),
        health: Health::new(),
        node: "gateway-test".into(),
    }
}

impl Town {
    /// One whose NATS is away.
    pub(crate) async fn start() -> Self {
        // Nothing listens on port 1.
        Self::with_nats("nats://127.0.0.1:1").await
    }

    pub(crate) async fn with_nats(url: &str) -> Self {
        Self::with_parts(parts(url).await).await
    }

    pub(crate) async fn with_parts(parts: Parts) -> Self {
        let health = parts.health.clone();
        let gateway = Gateway::bind(&config(), parts).await.unwrap();
        let address = gateway.address();
        let store = Arc::new(Model::new(PARTITIONS, Clock::real()));
        let shutdown = Shutdown::new();
        let served: Arc<dyn store::PlanStore> = store.clone();
        let opened = std::future::ready(Some(served));
        let running = tokio::spawn(gateway.run(opened, shutdown.clone()));
        let api = Api::new(&format!("http://{address}"));
        let town = Self {
            api,
            store,
            health,
            address,
            nonce: Default::default(),
            shutdown,
            running,
        };
        // The gate opens within the first poll of `run`.
        while town.get("/api/v1/types").await.status == 503 {
            tokio::task::yield_now().await;
        }
        town
    }

    /// Declares a type.
    pub(crate) async fn declare(&self, definition: Value) {
        let answer = self.post("/api/v1/apply", json!({"types": [definition]})).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.api.get(path).await.unwrap()
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        self.api.post(path, &body).await.unwrap()
    }

    /// A body as its exact text.
    pub(crate) async fn post_text(&self, path: &str, body: &str) -> Answer {
        self.api.post_bytes(path, body.as_bytes()).await.unwrap()
    }

    /// Submits a task and returns its id.
    pub(crate) async fn submit(&self, body: Value) -> String {
        let answer = self.post("/api/v1/tasks", body).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
        answer.json()["task_id"].as_str().unwrap().to_owned()
    }

    /// Tasks in the store.
    pub(crate) async fn stored(&self) -> usize {
        self.api.list("/api/v1/tasks?limit=1000").await.unwrap().len()
    }

    fn nonce(&self) -> [u8; 16] {
        self.nonce.set(self.nonce.get() + 1);
        let mut nonce = [7; 16];
        nonce[8..].copy_from_slice(&self.nonce.get().to_be_bytes());
        nonce
    }

    /// Plays the executor: dispatches and claims a task.
    pub(crate) async fn claim(&self, id: &str) -> (TaskId, Partition, domain::Token) {
        let id: TaskId = id.parse().unwrap();
        let partition = id.partition(PARTITIONS);
        let task = self.store.get(id).await.unwrap().unwrap().task;
        let ask = Dispatch {
            pool: task.pool,
            tier: task.tier,
            limit: 64,
            oldest: false,
            types: vec![task.task_type],
        };
        self.store.dispatch(partition, self.nonce(), &ask).await.unwrap();
        let item = ClaimItem {
            id,
            effective_tier: task.tier,
            random: [1; 8],
        };
        let claim = Claim {
            executor_id: "executor-7".into(),
            lease_ms: 60_000,
            items: vec![item],
        };
        let reply = self
            .store
            .claim(partition, self.nonce(), &Origin::default(), &claim)
            .await
            .unwrap();
        match &reply.items[0] {
            Claimed::Run { task, .. } => (id, partition, task.lease_token.unwrap()),
            other => panic!("{other:?}"),
        }
    }

    /// Runs a task to its success.
    pub(crate) async fn succeed(&self, id: &str, result: &'static [u8], output: &'static [u8]) {
        let (id, partition, token) = self.claim(id).await;
        let end = Finish {
            id,
            token,
            result: result.into(),
            output: output.into(),
        };
        let reply = self
            .store
            .complete(partition, self.nonce(), &Origin::default(), &[end])
            .await
            .unwrap();
        assert_eq!(reply.items[0].as_ref().unwrap().0, Status::Success);
    }

    /// Plays the recorder: counts what the outboxes hold.
    pub(crate) async fn record_outbox(&self) {
        for partition in 0..PARTITIONS {
            let entries = self.store.outbox(partition, 0, 10_000).await.unwrap();
            let events: Vec<_> = entries.into_iter().flat_map(|entry| entry.events).collect();
            self.store.record(partition, 1, 1, &events).await.unwrap();
        }
    }

    /// Runs a task to its death.
    pub(crate) async fn kill(&self, id: &str) {
        let (id, partition, token) = self.claim(id).await;
        let end = Failure {
            id,
            token,
            class: ErrorClass::Deterministic,
            code: "http_422".into(),
            error: "the endpoint said no".into(),
            output: bytes::Bytes::new(),
            delay_ms: 0,
        };
        let reply = self
            .store
            .fail(partition, self.nonce(), &Origin::default(), &[end])
            .await
            .unwrap();
        assert_eq!(reply.items[0].as_ref().unwrap().0, Status::Dead);
    }
}

/// The problems of an answer, as (field, reason); checks the shape of RFC 9457.
pub(crate) fn problems(answer: &Answer) -> Vec<(String, String)> {
    let body = answer.json();
    assert_eq!(body["status"], answer.status.as_u16(), "{body}");
    assert!(
        body["title"].is_string() && body["detail"].is_string() && body["type"].is_string(),
        "{body}"
    );
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let errors = body["errors"].as_array().cloned().unwrap_or_default();
    errors
        .iter()
        .map(|error| (text(&error["field"]), text(&error["reason"])))
        .collect()
}
