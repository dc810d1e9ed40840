//! `/stats` and `/executors`: how the town stands.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Instant,
};

use axum::{Router, http::StatusCode, response::Response, routing::get};
use domain::{Millis, Status, Tier};
use futures::future::try_join_all;
use serde::Serialize;
use store::{PartitionStats, QueueStats};
use utoipa::ToSchema;

use crate::{
    body::json,
    gate::{Entrance, Gate},
    page::Items,
    refusal::Refusal,
};

#[derive(utoipa::OpenApi)]
#[openapi(paths(stats, executors))]
pub(crate) struct Api;

/// The routes, below `/api/v1`.
pub(crate) fn routes() -> Router<Entrance> {
    Router::new()
        .route("/stats", get(stats))
        .route("/executors", get(executors))
}

type Counts = BTreeMap<&'static str, u64>;

/// How many tasks stand where.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(crate) struct Stats {
    /// By status, zeros included.
    tasks: Counts,
    /// By type and status.
    types: BTreeMap<String, Counts>,
    delayed: u64,
    dispatched: u64,
    running: u64,
    /// Entries that wait for the events stream.
    outbox: u64,
    queues: Vec<Queue>,
}

/// The ready queue of a pool and tier.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Queue {
    pool: String,
    #[schema(value_type = String)]
    tier: Tier,
    ready: u64,
    /// How long the oldest has waited.
    oldest_ready_seconds: f64,
}

/// Counts of the whole store.
#[utoipa::path(get, path = "/api/v1/stats", tag = "town", responses((status = 200, body = Stats, description = "counts")))]
async fn stats(gate: Gate) -> Result<Response, Refusal> {
    let pools: BTreeSet<String> = gate
        .types()
        .await?
        .specs()
        .map(|spec| spec.pool.clone())
        .collect();
    let pools: Vec<_> = pools.into_iter().collect();
    let partitions = 0..gate.store.partitions();
    let parts = try_join_all(partitions.map(|partition| {
        let (store, pools) = (&gate.store, &pools);
        async move {
            Ok::<_, store::Error>((
                store.stats(partition).await?,
                store.queues(partition, pools).await?,
            ))
        }
    }))
    .await?;
    Ok(json(StatusCode::OK, &sum(parts)))
}

fn zeros() -> Counts {
    Status::ALL
        .into_iter()
        .map(|status| (status.as_str(), 0))
        .collect()
}

fn sum(parts: Vec<(PartitionStats, Vec<QueueStats>)>) -> Stats {
    let mut sum = Stats {
        tasks: zeros(),
        ..Stats::default()
    };
    let mut queues: BTreeMap<(String, Tier), (u64, Millis)> = BTreeMap::new();
    for (part, lines) in parts {
        for ((name, status), count) in part.by_type {
            *sum.tasks.entry(status.as_str()).or_default() += count;
            *sum.types
                .entry(name)
                .or_insert_with(zeros)
                .entry(status.as_str())
                .or_default() += count;
        }
        sum.delayed += part.delayed;
        sum.dispatched += part.dispatched;
        sum.running += part.running;
        sum.outbox += part.outbox;
        for line in lines {
            let waited = if line.oldest == 0 {
                0
            } else {
                part.now - line.oldest
            };
            let queue = queues.entry((line.pool, line.tier)).or_default();
            *queue = (queue.0 + line.ready, queue.1.max(waited));
        }
    }
    sum.queues = queues.into_iter().map(queue).collect();
    sum
}

fn queue(((pool, tier), (ready, waited)): ((String, Tier), (u64, Millis))) -> Queue {
    Queue {
        pool,
        tier,
        ready,
        oldest_ready_seconds: waited.max(0) as f64 / 1_000.0,
    }
}

/// An executor that reported within the last 3 s.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Executor)]
pub(crate) struct ExecutorJson {
    executor_id: String,
    pool: String,
    slots: u32,
    free: u32,
    taken_total: u64,
    completed_total: u64,
    seen_seconds_ago: f64,
}

/// Executors that reported to this gateway within the last 3 s.
#[utoipa::path(get, path = "/api/v1/executors", tag = "town", responses((status = 200, body = Vec<ExecutorJson>, description = "`items` and `next`")))]
async fn executors(gate: Gate) -> Result<Response, Refusal> {
    let now = Instant::now();
    let all = gate.credit.executors(now).into_iter();
    let items = all.map(|((pool, executor_id), executor)| ExecutorJson {
        executor_id,
        pool,
        slots: executor.slots,
        free: executor.free,
        taken_total: executor.taken_total,
        completed_total: executor.completed_total,
        seen_seconds_ago: now.saturating_duration_since(executor.seen).as_secs_f64(),
    });
    Ok(json(StatusCode::OK, &Items::whole(items.collect())))
}
