//! Whether this process can do its work, and if not, why and since when.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use axum::{
    Json, Router,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use serde::Serialize;
use serde_json::json;

/// Longest reason kept, in bytes.
const REASON_BYTES: usize = 300;

/// What this process depends on, by name. Clones share it. A process without dependencies is ready.
#[derive(Debug, Clone, Default)]
pub struct Health(Arc<Mutex<BTreeMap<&'static str, State>>>);

#[derive(Debug)]
struct State {
    reason: Option<String>,
    since: Instant,
}

/// One dependency, held by whoever sees it work or fail.
#[derive(Debug, Clone)]
pub struct Dependency {
    health: Health,
    name: &'static str,
}

/// Why a process is not ready.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotReady {
    /// The dependency, such as `redis`.
    pub name: &'static str,
    /// What is wrong with it.
    pub reason: String,
    /// For how long, in seconds.
    pub seconds: u64,
}

impl Health {
    /// A process without dependencies yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a dependency, which is not ready before it says so. The same name twice is the same dependency.
    #[must_use]
    pub fn dependency(&self, name: &'static str) -> Dependency {
        let starting = || State {
            reason: Some("starting".into()),
            since: Instant::now(),
        };
        self.lock().entry(name).or_insert_with(starting);
        Dependency {
            health: self.clone(),
            name,
        }
    }

    /// From now on the process is not ready because it stops: no new work, please.
    pub fn stopping(&self) {
        self.dependency("shutdown").not_ready("stopping");
    }

    /// Whether all dependencies are ready.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.lock().values().all(|state| state.reason.is_none())
    }

    /// The dependencies that are not ready, by name; empty when the process is.
    #[must_use]
    pub fn not_ready(&self) -> Vec<NotReady> {
        let states = self.lock();
        let reasons = states.iter().filter_map(|(name, state)| {
            let reason = state.reason.clone()?;
            Some(NotReady {
                name,
                reason,
                seconds: state.since.elapsed().as_secs(),
            })
        });
        reasons.collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<&'static str, State>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Dependency {
    /// It works. Logged when it did not before.
    pub fn ready(&self) {
        if self.set(None) {
            tracing::info!(dependency = self.name, "ready");
        }
    }

    /// It does not work. Logged when it did before, or never has; further reasons only show on `/readyz`.
    pub fn not_ready(&self, reason: &str) {
        let reason = &reason[..reason.floor_char_boundary(REASON_BYTES)];
        if self.set(Some(reason.to_owned())) {
            tracing::warn!(dependency = self.name, reason, "not ready");
        }
    }

    /// The name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Sets the state; true when it is worth a line: a change, or the first trouble of one that is starting.
    fn set(&self, reason: Option<String>) -> bool {
        let mut states = self.health.lock();
        let Some(state) = states.get_mut(self.name) else {
            return false;
        };
        let changed = state.reason.is_some() != reason.is_some();
        let first = reason.is_some() && state.reason.as_deref() == Some("starting");
        if changed {
            state.since = Instant::now();
        }
        state.reason = reason;
        changed || first
    }
}

/// The endpoints that every role has: `/livez`, `/readyz` (200, or 503 with the reasons) and `/metrics` (what
/// `metrics` renders).
pub fn health_router(health: Health, metrics: impl Fn() -> String + Clone + Send + Sync + 'static) -> Router {
    const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";
    Router::new()
        .route("/livez", get(|| async { Json(json!({"live": true})) }))
        .route("/readyz", get(move || async move { readyz(&health) }))
        .route(
            "/metrics",
            get(move || async move { ([(header::CONTENT_TYPE, TEXT)], metrics()) }),
        )
}

fn readyz(health: &Health) -> Response {
    let reasons = health.not_ready();
    let ready = reasons.is_empty();
    let status = if ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    (status, Json(json!({"ready": ready, "not_ready": reasons}))).into_response()
}
