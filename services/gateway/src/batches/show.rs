//! Counts of a batch, and the batches of late.

use std::collections::BTreeMap;

use axum::{extract::Path, http::StatusCode, response::Response};
use domain::{Status, TaskId};
use serde::Serialize;
use store::{BatchCounts, Page, Sealed, TaskFilter};
use utoipa::ToSchema;

use super::seal::SealedJson;
use crate::{
    body::{Params, id, json},
    gate::Gate,
    page::{Items, LIMIT_MAX, page},
    refusal::{Refusal, RefusalShape},
};

/// Pages of tasks looked through for batches in one request.
const PAGES_MAX: usize = 20;

/// A batch by the statuses of its tasks.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Batch)]
pub(crate) struct BatchJson {
    #[schema(value_type = String)]
    batch_id: TaskId,
    total: u64,
    /// Every status, zeros included.
    counts: BTreeMap<&'static str, u64>,
    /// Whether every task has ended, and all rows are there where it is known how many there are.
    finished: bool,
    /// What was said when all rows were handed in; null before.
    sealed: Option<SealedJson>,
}

impl BatchJson {
    pub(super) fn of(batch_id: TaskId, counts: &BatchCounts, sealed: Option<Sealed>) -> Self {
        let named = |status: Status| {
            let name = status.as_str();
            (name, counts.by_status.get(name).copied().unwrap_or(0))
        };
        Self {
            batch_id,
            total: counts.total,
            counts: Status::ALL.into_iter().map(named).collect(),
            finished: counts.finished()
                && sealed
                    .as_ref()
                    .is_none_or(|sealed| counts.total >= sealed.seal.total),
            sealed: sealed.map(SealedJson::from),
        }
    }
}

impl Gate {
    /// The batch that a path names.
    pub(super) async fn batch(&self, text: &str) -> Result<(TaskId, BatchCounts), Refusal> {
        let batch = id("batch_id", text)?;
        let counts = self.store.batch(batch).await?;
        counts
            .map(|counts| (batch, counts))
            .ok_or_else(|| Refusal::missing("batch", batch))
    }
}

/// Shows the counts of a batch.
#[utoipa::path(
    get, path = "/api/v1/batches/{id}", tag = "batches", params(("id" = String, Path)),
    responses((status = 200, body = BatchJson, description = "the batch"), (status = 404, body = RefusalShape, description = "none"))
)]
pub(crate) async fn show(gate: Gate, Path(text): Path<String>) -> Result<Response, Refusal> {
    let batch = id("batch_id", &text)?;
    let (counts, sealed) = tokio::try_join!(gate.store.batch(batch), gate.store.sealed(batch))?;
    if counts.is_none() && sealed.is_none() {
        return Err(Refusal::missing("batch", batch));
    }
    let shown = BatchJson::of(batch, &counts.unwrap_or_default(), sealed);
    Ok(json(StatusCode::OK, &shown))
}

/// Lists batches that have tasks among the newest ones. A page may be short, even empty, and still have a `next`; a
/// batch may come again on the next page.
#[utoipa::path(
    get, path = "/api/v1/batches", tag = "batches",
    params(("limit" = Option<u16>, Query), ("cursor" = Option<String>, Query)),
    responses((status = 200, description = "`items` and `next`"))
)]
pub(crate) async fn list(gate: Gate, params: Params) -> Result<Response, Refusal> {
    let asked = page(&params.only(&["limit", "cursor"])?)?;
    let (mut found, mut cursor): (Vec<TaskId>, _) = (Vec::new(), asked.cursor);
    for _ in 0..PAGES_MAX {
        let listed = gate
            .store
            .list(
                &TaskFilter::default(),
                &Page {
                    limit: LIMIT_MAX,
                    cursor,
                },
            )
            .await?;
        for batch in listed.items.iter().filter_map(|view| view.task.batch_id) {
            if !found.contains(&batch) {
                found.push(batch);
            }
        }
        cursor = listed.next;
        if cursor.is_none() || found.len() >= asked.limit {
            break;
        }
    }
    let mut items = Vec::new();
    for batch in found {
        if let Some(counts) = gate.store.batch(batch).await? {
            let sealed = gate.store.sealed(batch).await?;
            items.push(BatchJson::of(batch, &counts, sealed));
        }
    }
    Ok(json(StatusCode::OK, &Items { items, next: cursor }))
}
