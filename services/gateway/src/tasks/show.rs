//! What is known of one task: itself, its timeline, and its bytes.

use axum::{
    extract::Path,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use store::TaskView;

use crate::{
    body::{Params, id, json},
    gate::Gate,
    page::Items,
    refusal::{Refusal, RefusalShape},
    tasks::task_json::{TaskJson, TimelineJson, exact},
};

impl Gate {
    /// The task that a path names.
    pub(crate) async fn task(&self, text: &str) -> Result<TaskView, Refusal> {
        let task = id("task_id", text)?;
        self.store
            .get(task)
            .await?
            .ok_or_else(|| Refusal::missing("task", task))
    }
}

/// Shows a task with payload and result.
#[utoipa::path(
    get, path = "/api/v1/tasks/{id}", tag = "tasks", params(("id" = String, Path)),
    responses(
        (status = 200, body = TaskJson<'static>, description = "the task"),
        (status = 404, body = RefusalShape, description = "there is none"),
    )
)]
pub(crate) async fn task(gate: Gate, Path(id): Path<String>) -> Result<Response, Refusal> {
    let view = gate.task(&id).await?;
    Ok(json(StatusCode::OK, &TaskJson::whole(&view)))
}

/// Shows the transitions of a task, oldest first; the newest 64.
#[utoipa::path(
    get, path = "/api/v1/tasks/{id}/timeline", tag = "tasks", params(("id" = String, Path)),
    responses(
        (status = 200, body = Vec<TimelineJson<'static>>, description = "`items` and `next`"),
        (status = 404, body = RefusalShape, description = "there is no such task"),
    )
)]
pub(crate) async fn timeline(gate: Gate, Path(text): Path<String>) -> Result<Response, Refusal> {
    let task = id("task_id", &text)?;
    let timeline = gate.store.timeline(task).await?;
    if timeline.is_empty() {
        return Err(Refusal::missing("task", task));
    }
    Ok(json(
        StatusCode::OK,
        &Items::whole(timeline.iter().map(TimelineJson::from).collect()),
    ))
}

/// The bytes of the payload, as they came in.
#[utoipa::path(
    get, path = "/api/v1/tasks/{id}/payload", tag = "tasks", params(("id" = String, Path)),
    responses((status = 200, description = "the bytes"), (status = 404, body = RefusalShape, description = "none"))
)]
pub(crate) async fn payload(gate: Gate, Path(id): Path<String>) -> Result<Response, Refusal> {
    Ok(bytes(gate.task(&id).await?.payload))
}

/// The bytes of the result, as the handler returned them; empty where there is none.
#[utoipa::path(
    get, path = "/api/v1/tasks/{id}/result", tag = "tasks", params(("id" = String, Path)),
    responses((status = 200, description = "the bytes"), (status = 404, body = RefusalShape, description = "none"))
)]
pub(crate) async fn result(gate: Gate, Path(id): Path<String>) -> Result<Response, Refusal> {
    Ok(bytes(gate.task(&id).await?.result))
}

/// What the handler printed in an attempt, head and tail; the newest if none is named.
#[utoipa::path(
    get, path = "/api/v1/tasks/{id}/logs", tag = "tasks",
    params(("id" = String, Path), ("attempt" = Option<u32>, Query)),
    responses(
        (status = 200, description = "the bytes; the header Gengfu-Attempt says which attempt"),
        (status = 404, body = RefusalShape, description = "no such task or attempt, or it printed nothing"),
    )
)]
pub(crate) async fn logs(gate: Gate, Path(text): Path<String>, params: Params) -> Result<Response, Refusal> {
    let params = params.only(&["attempt"])?;
    let attempt = params.read("attempt", str::parse::<u32>)?;
    let task = id("task_id", &text)?;
    let (attempt, output) = gate
        .store
        .output(task, attempt)
        .await?
        .unwrap_or((attempt.unwrap_or(0), Bytes::new()));
    // Nothing printed, or nothing ran: the task knows.
    if output.is_empty() {
        let ran = gate.task(&text).await?.task.attempt;
        if attempt == 0 || attempt > ran {
            let what = format!("{task} in attempt {attempt}: it ran {ran} times");
            return Err(Refusal::missing("output of task", what));
        }
    }
    let kind = if std::str::from_utf8(&output).is_ok() {
        "text/plain; charset=utf-8"
    } else {
        OPAQUE
    };
    let headers = [
        ("gengfu-attempt", attempt.to_string()),
        (header::CONTENT_TYPE.as_str(), kind.to_owned()),
    ];
    Ok((headers, output).into_response())
}

const OPAQUE: &str = "application/octet-stream";

fn bytes(bytes: Bytes) -> Response {
    let kind = if exact(&bytes).is_some() {
        "application/json"
    } else {
        OPAQUE
    };
    // What a payload holds is a client's: no browser shall take it for a page.
    (
        [
            (header::CONTENT_TYPE, kind),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        ],
        bytes,
    )
        .into_response()
}
