//! `/tasks` and `/dead`.

mod check;
mod list;
mod operate;
mod show;
mod submission;
mod submit;
mod submit_batch;
mod task_json;

use axum::{
    Router,
    routing::{get, post},
};

use crate::gate::Entrance;

pub(crate) use operate::reason;
pub(crate) use task_json::exact;

#[derive(utoipa::OpenApi)]
#[openapi(paths(
    submit::submit,
    submit_batch::submit_batch,
    list::list,
    list::dead,
    show::task,
    show::timeline,
    show::payload,
    show::result,
    show::logs,
    operate::operate,
    operate::set,
))]
pub(crate) struct Api;

/// The routes, below `/api/v1`.
pub(crate) fn routes() -> Router<Entrance> {
    Router::new()
        .route("/tasks", post(submit::submit).get(list::list))
        .route("/tasks:batch", post(submit_batch::submit_batch))
        .route("/tasks/{id}", get(show::task).patch(operate::set))
        .route("/tasks/{id}/timeline", get(show::timeline))
        .route("/tasks/{id}/payload", get(show::payload))
        .route("/tasks/{id}/result", get(show::result))
        .route("/tasks/{id}/logs", get(show::logs))
        .route("/tasks/{id}/{verb}", post(operate::operate))
        .route("/dead", get(list::dead))
}
