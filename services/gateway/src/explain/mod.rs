//! `/tasks/{id}/explain`: why a task stands where it stands, in one sentence, with the evidence.
//!
//! `gather.rs` reads the facts, and the rest is pure: `because.rs` finds the cause that decides, `waiting.rs`,
//! `running.rs` and `ended.rs` put it into words.

mod because;
mod ended;
mod facts;
mod gather;
mod running;
mod waiting;
mod waits_for;
mod words;

use axum::{Router, extract::Path, http::StatusCode, response::Response, routing::get};
use domain::{Status, SubState, TaskId};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::{
    body::json,
    gate::{Entrance, Gate},
    refusal::{Refusal, RefusalShape},
};

#[derive(utoipa::OpenApi)]
#[openapi(paths(explain))]
pub(crate) struct Api;

/// The routes, below `/api/v1`.
pub(crate) fn routes() -> Router<Entrance> {
    Router::new().route("/tasks/{id}/explain", get(explain))
}

/// Why a task stands where it stands.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Explanation {
    #[schema(value_type = String)]
    task_id: TaskId,
    #[schema(value_type = String)]
    status: Status,
    #[schema(value_type = Option<String>)]
    sub_state: Option<SubState>,
    /// The one word for it, such as `type_paused`.
    cause: &'static str,
    /// The sentence.
    text: String,
    /// What to do, where something has to be done.
    remedy: Option<String>,
    /// What the sentence rests on.
    #[schema(value_type = Object)]
    evidence: Value,
}

/// What decides: a word, a sentence, what to do, and what it rests on.
#[derive(Debug)]
struct Cause {
    word: &'static str,
    text: String,
    remedy: Option<String>,
    evidence: Value,
}

impl Cause {
    fn new(word: &'static str, text: impl Into<String>, evidence: Value) -> Self {
        Self {
            word,
            text: text.into(),
            remedy: None,
            evidence,
        }
    }

    fn with_remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }
}

/// Says why a task stands where it stands, and what to do about it.
#[utoipa::path(
    get, path = "/api/v1/tasks/{id}/explain", tag = "tasks", params(("id" = String, Path)),
    responses(
        (status = 200, body = Explanation, description = "the sentence and its evidence"),
        (status = 404, body = RefusalShape, description = "there is no such task"),
    )
)]
async fn explain(gate: Gate, Path(id): Path<String>) -> Result<Response, Refusal> {
    let facts = gather::facts(&gate, gate.task(&id).await?).await?;
    let cause = because::of(&facts);
    let explanation = Explanation {
        task_id: facts.view.task.id,
        status: facts.view.task.status,
        sub_state: facts.view.sub_state,
        cause: cause.word,
        text: cause.text,
        remedy: cause.remedy,
        evidence: cause.evidence,
    };
    Ok(json(StatusCode::OK, &explanation))
}
