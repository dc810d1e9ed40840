//! What an operator does to one task: retry, cancel, reset, and a change of fields.

use axum::{extract::Path, http::StatusCode, response::Response};
use domain::{Rejection, Status, TaskId, duration};
use serde::{Deserialize, Serialize};
use store::{Operation, Origin, TaskView};
use utoipa::ToSchema;

use crate::{
    body::{Whole, json, parse, parse_or_default},
    gate::{Actor, Gate},
    play::play,
    refusal::{Refusal, RefusalShape},
    time::instant,
};

/// Longest reason, in bytes.
const REASON_BYTES: usize = 500;

/// Why, and with what limit.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OperateBody {
    /// Kept in the timeline.
    #[serde(default)]
    reason: String,
    /// A new limit of retries; not for cancel.
    max_retry: Option<u16>,
}

/// Fields to change.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SetBody {
    /// Kept in the timeline.
    #[serde(default)]
    reason: String,
    /// A new limit of retries.
    max_retry: Option<u16>,
    /// A new due time: RFC 3339 with an offset.
    next_run_time: Option<String>,
    /// A new limit of a run's time: `5m`.
    run_timeout: Option<String>,
}

/// Where the task stands after it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Operated {
    #[schema(value_type = String)]
    task_id: TaskId,
    #[schema(value_type = String)]
    status: Status,
    version: u32,
    /// Whether its run is being ended first; the status follows when it has ended.
    stopping: bool,
}

/// Retries, cancels or resets a task.
#[utoipa::path(
    post, path = "/api/v1/tasks/{id}/{verb}", tag = "tasks", request_body = OperateBody,
    params(("id" = String, Path), ("verb" = String, Path, description = "retry, cancel or reset")),
    responses(
        (status = 200, body = Operated, description = "done"),
        (status = 202, body = Operated, description = "the run is being ended first"),
        (status = 404, body = RefusalShape, description = "there is no such task"),
        (status = 409, body = RefusalShape, description = "not in this status"),
    )
)]
pub(crate) async fn operate(
    gate: Gate,
    actor: Actor,
    Path((id, verb)): Path<(String, String)>,
    whole: Whole,
) -> Result<Response, Refusal> {
    let body: OperateBody = parse_or_default(&whole.body)?;
    let max_retry = body.max_retry;
    let operation = match verb.as_str() {
        "retry" => Operation::Retry { max_retry },
        "reset" => Operation::Reset { max_retry },
        "cancel" if max_retry.is_none() => Operation::Cancel,
        "cancel" => {
            return Err(Refusal::malformed(
                "max_retry",
                "means nothing for cancel",
                "leave it out",
            ));
        }
        _ => return Err(Refusal::missing("verb", verb)),
    };
    let view = gate.task(&id).await?;
    gate.apply(&view, &gate.origin(actor, reason(body.reason)?), operation, &verb)
        .await
}

/// Changes fields of a task, never its status.
#[utoipa::path(
    patch, path = "/api/v1/tasks/{id}", tag = "tasks", request_body = SetBody, params(("id" = String, Path)),
    responses(
        (status = 200, body = Operated, description = "done"),
        (status = 404, body = RefusalShape, description = "there is no such task"),
        (status = 409, body = RefusalShape, description = "not in this status"),
    )
)]
pub(crate) async fn set(
    gate: Gate,
    actor: Actor,
    Path(id): Path<String>,
    whole: Whole,
) -> Result<Response, Refusal> {
    let body: SetBody = parse(&whole.body)?;
    if body.max_retry.is_none() && body.next_run_time.is_none() && body.run_timeout.is_none() {
        return Err(Refusal::malformed(
            "body",
            "changes nothing",
            "give max_retry, next_run_time or run_timeout",
        ));
    }
    let bad = |field| move |error: String| Refusal::malformed(field, error, "");
    let timeout = body
        .run_timeout
        .as_deref()
        .map(duration::parse_ms)
        .transpose()
        .map_err(bad("run_timeout"))?;
    if timeout == Some(0) {
        return Err(Refusal::malformed(
            "run_timeout",
            "is 0",
            "a run needs some time, such as 5m",
        ));
    }
    let operation = Operation::Set {
        max_retry: body.max_retry,
        next_run_time: body
            .next_run_time
            .as_deref()
            .map(instant)
            .transpose()
            .map_err(bad("next_run_time"))?,
        run_timeout_ms: timeout,
    };
    let view = gate.task(&id).await?;
    gate.apply(&view, &gate.origin(actor, reason(body.reason)?), operation, "set")
        .await
}

/// A reason that fits into a timeline.
pub(crate) fn reason(reason: String) -> Result<String, Refusal> {
    if reason.len() > REASON_BYTES {
        let told = format!("has {} bytes, more than {REASON_BYTES}", reason.len());
        return Err(Refusal::malformed("reason", told, "say it shorter"));
    }
    Ok(reason)
}

impl Gate {
    async fn apply(
        &self,
        view: &TaskView,
        origin: &Origin,
        operation: Operation,
        verb: &str,
    ) -> Result<Response, Refusal> {
        let task = &view.task;
        let partition = task.id.partition(self.store.partitions());
        let ids = [task.id];
        let reply = play(|nonce| self.store.operate(partition, nonce, origin, operation, &ids)).await?;
        self.announcer.announce(reply.outbox);
        let (status, version) = match reply.items.into_iter().next() {
            Some(Ok(done)) => done,
            Some(Err(rejection)) => return Err(refused(view, verb, &rejection)),
            None => return Err(Refusal::unavailable("the store gave no answer for this task")),
        };
        self.follow_up(view, operation, status).await;
        let stopping = status == Status::Running && !matches!(operation, Operation::Set { .. });
        let code = if stopping {
            StatusCode::ACCEPTED
        } else {
            StatusCode::OK
        };
        Ok(json(
            code,
            &Operated {
                task_id: task.id,
                status,
                version,
                stopping,
            },
        ))
    }

    /// Tells who can act on it at once; whoever misses it sees it at the next heartbeat or reconciliation.
    pub(crate) async fn follow_up(&self, view: &TaskView, operation: Operation, status: Status) {
        let task = &view.task;
        match (operation, status) {
            (Operation::Set { .. }, _) => {}
            (_, Status::Running) => {
                if let Err(error) = self.bus.nudge_stop(&task.executor_id, task.id).await {
                    tracing::debug!(%error, "a nudge was not sent");
                }
            }
            (Operation::Retry { .. } | Operation::Reset { .. }, Status::Pending) => {
                let partition = task.id.partition(self.store.partitions());
                self.hint_ready(partition, &task.pool, task.tier, &task.task_type)
                    .await;
            }
            (Operation::Retry { .. } | Operation::Reset { .. } | Operation::Cancel, _) => {}
        }
    }
}

fn refused(view: &TaskView, verb: &str, rejection: &Rejection) -> Refusal {
    let task = &view.task;
    if *rejection == Rejection::Missing {
        return Refusal::missing("task", task.id);
    }
    let reason = format!("{verb} of a task that is {}: {rejection}", task.status.as_str());
    let remedy = match verb {
        "retry" => "retry takes dead and cancelled tasks",
        "reset" => "reset takes running, retrying and delayed tasks",
        "cancel" => "cancel takes tasks that are not finished",
        _ => "read the task again",
    };
    Refusal::conflict("status", reason, remedy).with_task(task.id)
}
