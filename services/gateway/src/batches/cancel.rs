//! Stops every task of a batch that has not ended.

use std::collections::HashMap;

use axum::{extract::Path, http::StatusCode, response::Response};
use domain::{Partition, Rejection, Status};
use serde::{Deserialize, Serialize};
use store::{BATCH_MAX, Operation, Origin, Page, TaskFilter, TaskView};
use utoipa::ToSchema;

use crate::{
    body::{Params, Whole, json, parse_or_default},
    gate::{Actor, Gate},
    page::LIMIT_MAX,
    play::play,
    refusal::{Refusal, RefusalShape},
    tasks::reason,
};

/// Pages of tasks worked through in one request; the caller goes on with `next`.
const PAGES_MAX: usize = 20;

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CancelBody {
    /// Kept in the timelines.
    #[serde(default)]
    reason: String,
}

/// What was done so far.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(crate) struct Cancelled {
    /// Tasks that are cancelled now.
    cancelled: u64,
    /// Tasks whose run is being ended first.
    stopping: u64,
    /// Tasks that ended before.
    ended: u64,
    /// Call again with this cursor; null when the batch is through.
    next: Option<String>,
}

/// Cancels the tasks of a batch, a bounded number in one request.
#[utoipa::path(
    post, path = "/api/v1/batches/{id}/cancel", tag = "batches", request_body = CancelBody,
    params(("id" = String, Path), ("cursor" = Option<String>, Query)),
    responses((status = 200, body = Cancelled, description = "what was done"), (status = 404, body = RefusalShape, description = "none"))
)]
pub(crate) async fn cancel(
    gate: Gate,
    actor: Actor,
    Path(text): Path<String>,
    params: Params,
    whole: Whole,
) -> Result<Response, Refusal> {
    let body: CancelBody = parse_or_default(&whole.body)?;
    let params = params.only(&["cursor"])?;
    let origin = gate.origin(actor, reason(body.reason)?);
    let (batch, _) = gate.batch(&text).await?;
    let filter = TaskFilter {
        batch: Some(batch),
        ..TaskFilter::default()
    };
    let mut done = Cancelled {
        next: params.get("cursor").map(str::to_owned),
        ..Cancelled::default()
    };
    for _ in 0..PAGES_MAX {
        let page = Page {
            limit: LIMIT_MAX,
            cursor: done.next.take(),
        };
        let listed = gate.store.list(&filter, &page).await?;
        cancel_page(&gate, &origin, &listed.items, &mut done).await?;
        done.next = listed.next;
        if done.next.is_none() {
            break;
        }
    }
    Ok(json(StatusCode::OK, &done))
}

async fn cancel_page(
    gate: &Gate,
    origin: &Origin,
    views: &[TaskView],
    done: &mut Cancelled,
) -> Result<(), store::Error> {
    let mut by_partition: HashMap<Partition, Vec<&TaskView>> = HashMap::new();
    for view in views {
        if view.task.status.is_terminal() {
            done.ended += 1;
        } else {
            let partition = view.task.id.partition(gate.store.partitions());
            by_partition.entry(partition).or_default().push(view);
        }
    }
    for (partition, views) in by_partition {
        for views in views.chunks(BATCH_MAX) {
            let ids: Vec<_> = views.iter().map(|view| view.task.id).collect();
            let call = |nonce| {
                gate.store
                    .operate(partition, nonce, origin, Operation::Cancel, &ids)
            };
            let reply = play(call).await?;
            gate.announcer.announce(reply.outbox);
            for (view, verdict) in views.iter().zip(reply.items) {
                count(gate, view, verdict, done).await;
            }
        }
    }
    Ok(())
}

async fn count(
    gate: &Gate,
    view: &TaskView,
    verdict: Result<(Status, u32), Rejection>,
    done: &mut Cancelled,
) {
    match verdict {
        Ok((Status::Running, _)) => {
            done.stopping += 1;
            gate.follow_up(view, Operation::Cancel, Status::Running).await;
        }
        Ok(_) => done.cancelled += 1,
        Err(_) => done.ended += 1,
    }
}
