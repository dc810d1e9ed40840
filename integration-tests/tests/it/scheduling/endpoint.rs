//! An HTTP endpoint whose requests take until the test lets them go: what really runs at the same time.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    extract::State,
    http::{HeaderMap, StatusCode},
    routing::post,
};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

#[derive(Debug, Default)]
struct Calls {
    /// Requests that last, by task.
    open: Vec<String>,
    /// Most of them at any time.
    most: usize,
    /// Requests by task.
    came: BTreeMap<String, usize>,
}

/// The endpoint, on a free port; it ends with the test's runtime.
#[derive(Clone)]
pub(crate) struct Endpoint {
    url: String,
    calls: Arc<Mutex<Calls>>,
    free: Arc<Semaphore>,
}

/// A request that lasts. It ends with its answer, or when whoever sent it is gone.
struct Open(Endpoint, String);

impl Drop for Open {
    fn drop(&mut self) {
        let mut calls = self.0.calls.lock().unwrap();
        let at = calls.open.iter().position(|id| *id == self.1).unwrap();
        calls.open.remove(at);
    }
}

impl Endpoint {
    pub(crate) async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = Self {
            url: format!("http://{}/", listener.local_addr().unwrap()),
            calls: Arc::default(),
            free: Arc::new(Semaphore::new(0)),
        };
        let router = Router::new()
            .route("/", post(receive))
            .with_state(endpoint.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        endpoint
    }

    /// A type whose tasks call here.
    pub(crate) fn task_type(&self, name: &str) -> Value {
        json!({
            "name": name, "handler": "http", "run_timeout": "5m",
            "http": {"url": self.url, "method": "POST", "timeout": "5m"},
        })
    }

    /// The tasks whose requests last.
    pub(crate) fn open(&self) -> Vec<String> {
        self.calls.lock().unwrap().open.clone()
    }

    /// Most requests that ever lasted at the same time.
    pub(crate) fn most(&self) -> usize {
        self.calls.lock().unwrap().most
    }

    /// How often a task called.
    pub(crate) fn came(&self, id: &str) -> usize {
        self.calls.lock().unwrap().came.get(id).copied().unwrap_or(0)
    }

    /// Answers one request, the one that waits longest.
    pub(crate) fn let_one_go(&self) {
        self.free.add_permits(1);
    }

    /// Answers every request, those to come too.
    pub(crate) fn let_all_go(&self) {
        self.free.close();
    }
}

async fn receive(State(endpoint): State<Endpoint>, headers: HeaderMap) -> StatusCode {
    let id = headers["idempotency-key"].to_str().unwrap().to_owned();
    let open = Open(endpoint.clone(), id.clone());
    {
        let mut calls = endpoint.calls.lock().unwrap();
        calls.open.push(id.clone());
        calls.most = calls.most.max(calls.open.len());
        *calls.came.entry(id).or_default() += 1;
    }
    if let Ok(permit) = endpoint.free.acquire().await {
        permit.forget();
    }
    drop(open);
    StatusCode::OK
}
