//! `POST /tasks:batch`: up to 1,000 tasks, each with an answer of its own. This is the way of bulk.

use admission::Problem;
use axum::{http::StatusCode, response::Response};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use store::NewTask;
use utoipa::ToSchema;

use crate::{
    body::{Whole, json, parse},
    gate::{Actor, Gate},
    refusal::{Refusal, RefusalShape},
    tasks::{
        submission::{Defaults, SubmissionBody, SubmissionShape},
        submit::Accepted,
    },
};

/// Most tasks of one request.
const TASKS_MAX: usize = 1_000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BulkBody<'a> {
    #[serde(borrow)]
    tasks: Vec<SubmissionBody<'a>>,
    #[serde(borrow, default)]
    defaults: Defaults<'a>,
}

/// Tasks to be accepted, as OpenAPI describes them.
#[derive(ToSchema)]
#[schema(as = BulkSubmission)]
#[expect(dead_code, reason = "describes a shape")]
pub(crate) struct BulkShape {
    /// At most 1,000.
    tasks: Vec<SubmissionShape>,
    /// What a task that leaves a field out takes: `task_type`, `pool`, `tier`, `delay`, `at`, `expire_after`,
    /// `max_retry`, `batch_id`.
    defaults: Option<SubmissionShape>,
}

/// One answer for each task, in order.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BulkAnswer {
    items: Vec<BulkItem>,
    /// Tasks that are stored, those that were before included.
    accepted: usize,
    /// Tasks that are not.
    refused: usize,
}

/// The task, or why there is none.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum BulkItem {
    /// It is stored.
    Accepted(Accepted),
    /// It is not.
    Refused {
        /// The status that it would have got alone.
        code: u16,
        /// Why.
        detail: String,
        /// The fields at fault.
        #[schema(value_type = Vec<crate::refusal::FieldShape>)]
        errors: Vec<Problem>,
    },
}

impl From<Refusal> for BulkItem {
    fn from(refusal: Refusal) -> Self {
        Self::Refused {
            code: refusal.status.as_u16(),
            detail: refusal.detail,
            errors: refusal.errors,
        }
    }
}

/// Accepts up to 1,000 tasks.
#[utoipa::path(
    post, path = "/api/v1/tasks:batch", tag = "tasks", request_body = BulkShape,
    responses(
        (status = 200, description = "an answer for each task; refused ones say why", body = BulkAnswer),
        (status = 400, description = "the body can't be read; nothing is stored", body = RefusalShape),
        (status = 413, description = "the body is over 8 MiB; nothing is stored", body = RefusalShape),
        (status = 503, description = "the store is away or full; some may be stored", body = RefusalShape),
    )
)]
pub(crate) async fn submit_batch(gate: Gate, actor: Actor, whole: Whole) -> Result<Response, Refusal> {
    let BulkBody { tasks, defaults } = parse(&whole.body)?;
    if tasks.len() > TASKS_MAX {
        let reason = format!("holds {} tasks, more than {TASKS_MAX}", tasks.len());
        return Err(Refusal::malformed(
            "tasks",
            reason,
            "send them in several requests",
        ));
    }
    let filled: Vec<_> = tasks.into_iter().map(|task| task.or(&defaults)).collect();
    let (checked, mut items) = check_all(&gate, &filled, &whole.body).await?;
    let (places, tasks): (Vec<_>, Vec<_>) = checked.into_iter().unzip();
    let sent = tasks.len();
    let origin = gate.origin(actor, String::new());
    let answers = gate.admit(&origin, tasks, "batch").await;
    let mut away: Vec<Refusal> = Vec::new();
    for (place, answer) in places.into_iter().zip(answers) {
        items[place] = Some(match answer.and_then(Accepted::of) {
            Ok(accepted) => BulkItem::Accepted(accepted),
            Err(refusal) => {
                if refusal.status == StatusCode::SERVICE_UNAVAILABLE {
                    away.push(refusal.clone());
                }
                refusal.into()
            }
        });
    }
    // Nothing at all was stored: say so in the way that clients wait upon.
    match away.pop() {
        Some(refusal) if away.len() + 1 == sent => Err(refusal),
        _ => Ok(answer(items)),
    }
}

fn answer(items: Vec<Option<BulkItem>>) -> Response {
    let items: Vec<_> = items.into_iter().flatten().collect();
    let accepted = items
        .iter()
        .filter(|item| matches!(item, BulkItem::Accepted(_)))
        .count();
    json(
        StatusCode::OK,
        &BulkAnswer {
            refused: items.len() - accepted,
            items,
            accepted,
        },
    )
}

type Checked = (Vec<(usize, NewTask)>, Vec<Option<BulkItem>>);

/// The tasks that can be admitted, with their places, and the answers of those that can't.
async fn check_all(gate: &Gate, bodies: &[SubmissionBody<'_>], body: &Bytes) -> Result<Checked, Refusal> {
    let table = gate
        .types_for(bodies.iter().map(SubmissionBody::task_type))
        .await?;
    let mut tasks = Vec::with_capacity(bodies.len());
    let mut items: Vec<_> = bodies.iter().map(|_| None).collect();
    for (place, one) in bodies.iter().enumerate() {
        match one
            .submission(body)
            .and_then(|submission| gate.check_with(submission, &table))
        {
            Ok(task) => tasks.push((place, task)),
            Err(problems) => items[place] = Some(Refusal::invalid(problems).into()),
        }
    }
    Ok((tasks, items))
}
