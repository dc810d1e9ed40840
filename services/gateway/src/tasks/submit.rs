//! `POST /tasks`: one task.

use axum::{
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use domain::{Status, TaskId};
use serde::Serialize;
use store::{Admitted, NewTask};
use utoipa::ToSchema;

use crate::{
    body::{Whole, json, parse},
    gate::{Actor, Gate},
    refusal::{Refusal, RefusalShape},
    tasks::submission::{SubmissionBody, SubmissionShape},
};

/// The header that may hold the idempotency key.
const KEY: &str = "idempotency-key";

/// The task of a submission.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Accepted {
    /// The task.
    #[schema(value_type = String)]
    task_id: TaskId,
    /// Its status now.
    #[schema(value_type = String)]
    status: Status,
    /// Whether its idempotency key had a task already.
    existing: bool,
}

impl Accepted {
    /// What became of a submission that was not refused; a conflict is a refusal.
    pub(crate) fn of(admitted: Admitted) -> Result<Self, Refusal> {
        match admitted {
            Admitted::Created { id, status, .. } => Ok(Self {
                task_id: id,
                status,
                existing: false,
            }),
            Admitted::Existing { id, status } => Ok(Self {
                task_id: id,
                status,
                existing: true,
            }),
            Admitted::Conflict { id } => {
                let reason = "was used before with another payload";
                let remedy = "use a new key, or send the same payload";
                Err(Refusal::conflict("idempotency_key", reason, remedy).with_task(id))
            }
        }
    }
}

/// Accepts a task.
#[utoipa::path(
    post, path = "/api/v1/tasks", tag = "tasks", request_body = SubmissionShape,
    params(("Idempotency-Key" = Option<String>, Header), ("Gengfu-Actor" = Option<String>, Header)),
    responses(
        (status = 201, description = "a new task", body = Accepted),
        (status = 200, description = "the task that the key had already made", body = Accepted),
        (status = 400, description = "the body can't be read", body = RefusalShape),
        (status = 409, description = "the key was used with another payload", body = RefusalShape),
        (status = 413, description = "the payload is over the limit", body = RefusalShape),
        (status = 422, description = "unknown type, bad tier, or a payload against its schema", body = RefusalShape),
        (status = 503, description = "the store is away or full", body = RefusalShape),
    )
)]
pub(crate) async fn submit(
    gate: Gate,
    actor: Actor,
    headers: HeaderMap,
    whole: Whole,
) -> Result<Response, Refusal> {
    let mut parsed: SubmissionBody<'_> = parse(&whole.body)?;
    key_of_header(&headers, &mut parsed)?;
    let submission = parsed.submission(&whole.body).map_err(Refusal::invalid)?;
    let task: NewTask = gate.check(submission).await?;
    let origin = gate.origin(actor, String::new());
    let mut answers = gate.admit(&origin, vec![task], "http").await;
    let answer = answers
        .pop()
        .unwrap_or_else(|| Err(Refusal::unavailable("the store gave no answer")))?;
    let accepted = Accepted::of(answer)?;
    if accepted.existing {
        return Ok(json(StatusCode::OK, &accepted));
    }
    let place = format!("/api/v1/tasks/{}", accepted.task_id);
    Ok(([(header::LOCATION, place)], json(StatusCode::CREATED, &accepted)).into_response())
}

fn key_of_header(headers: &HeaderMap, body: &mut SubmissionBody<'_>) -> Result<(), Refusal> {
    let Some(value) = headers.get(KEY) else {
        return Ok(());
    };
    let key = value.to_str().map_err(|_| {
        Refusal::malformed(
            "Idempotency-Key",
            "holds bytes that are no ASCII",
            "put it into the body",
        )
    })?;
    if !body.idempotency_key.is_empty() && body.idempotency_key != key {
        let reason = "is not the idempotency_key of the body";
        return Err(Refusal::malformed("Idempotency-Key", reason, "give one of them"));
    }
    body.idempotency_key = key.to_owned().into();
    Ok(())
}
