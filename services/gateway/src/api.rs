//! The routes of the whole API, what holds for all of them, and their description.

use std::time::Duration;

use axum::{
    Router,
    extract::Request,
    http::{StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::get,
};
use utoipa::OpenApi;

use crate::{
    audit, batches, body::json, explain, foreign, gate::Entrance, refusal::Refusal, schedules, stats, tasks,
    types,
};

/// Longest time until an answer begins.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

#[derive(OpenApi)]
#[openapi(info(
    title = "Gengfu",
    description = "Unattended batch tasks: submit, watch, mend. Errors are RFC 9457 problem details."
))]
struct Api;

fn description() -> utoipa::openapi::OpenApi {
    let mut whole = Api::openapi();
    for part in [
        tasks::Api::openapi(),
        explain::Api::openapi(),
        types::Api::openapi(),
        batches::Api::openapi(),
        schedules::Api::openapi(),
        stats::Api::openapi(),
        audit::Api::openapi(),
    ] {
        whole.merge(part);
    }
    whole
}

/// The API, without the endpoints that every role has.
pub(crate) fn router(entrance: Entrance) -> Router {
    let v1 = Router::new()
        .merge(tasks::routes())
        .merge(explain::routes())
        .merge(types::routes())
        .merge(batches::routes())
        .merge(schedules::routes())
        .merge(stats::routes())
        .merge(audit::routes());
    Router::new()
        .nest("/api/v1", v1)
        .route(
            "/api/openapi.json",
            get(|| async { json(StatusCode::OK, &description()) }),
        )
        .fallback(|request: Request| async move { Refusal::missing("path", request.uri().path().to_owned()) })
        .method_not_allowed_fallback(|| async { Refusal::method() })
        .layer(middleware::from_fn(answer))
        .with_state(entrance)
}

async fn answer(request: Request, next: Next) -> Response {
    if let Some(refusal) = foreign::refusal(request.headers()) {
        return refusal.into_response();
    }
    match tokio::time::timeout(ANSWER_TIMEOUT, next.run(request)).await {
        Ok(response) => problem_kind(response),
        Err(_) => Refusal::unavailable("the answer took too long").into_response(),
    }
}

/// What axum refuses by itself (a path that is no UTF-8) is told as we tell things.
fn problem_kind(response: Response) -> Response {
    let plain = response
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"text/plain"));
    if plain && response.status() == StatusCode::BAD_REQUEST {
        return Refusal::malformed("path", "can't be read", "see /api/openapi.json").into_response();
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_names_every_route() {
        let described = serde_json::to_value(description()).unwrap();
        assert!(described["openapi"].as_str().unwrap().starts_with("3.1"));
        for (path, methods) in [
            ("/api/v1/tasks", &["get", "post"][..]),
            ("/api/v1/tasks:batch", &["post"]),
            ("/api/v1/tasks/{id}", &["get", "patch"]),
            ("/api/v1/tasks/{id}/timeline", &["get"]),
            ("/api/v1/tasks/{id}/payload", &["get"]),
            ("/api/v1/tasks/{id}/result", &["get"]),
            ("/api/v1/tasks/{id}/logs", &["get"]),
            ("/api/v1/tasks/{id}/explain", &["get"]),
            ("/api/v1/tasks/{id}/{verb}", &["post"]),
            ("/api/v1/dead", &["get"]),
            ("/api/v1/apply", &["post"]),
            ("/api/v1/types", &["get"]),
            ("/api/v1/types/{name}", &["get", "patch"]),
            ("/api/v1/types/{name}/{verb}", &["post"]),
            ("/api/v1/batches", &["get"]),
            ("/api/v1/batches/{id}", &["get"]),
            ("/api/v1/batches/{id}/results", &["get"]),
            ("/api/v1/batches/{id}/cancel", &["post"]),
            ("/api/v1/schedules", &["get"]),
            ("/api/v1/schedules/{name}", &["get", "delete"]),
            ("/api/v1/schedules/preview", &["post"]),
            ("/api/v1/schedules/{name}/preview", &["get"]),
            ("/api/v1/schedules/{name}/pause", &["post"]),
            ("/api/v1/schedules/{name}/resume", &["post"]),
            ("/api/v1/schedules/{name}/triggers", &["get"]),
            ("/api/v1/schedules/{name}/trigger", &["post"]),
            ("/api/v1/schedules/{name}/backlog", &["get", "post"]),
            ("/api/v1/schedules/{name}/backfill", &["post"]),
            ("/api/v1/backlog", &["get"]),
            ("/api/v1/triggers", &["get"]),
            ("/api/v1/pause", &["post"]),
            ("/api/v1/resume", &["post"]),
            ("/api/v1/calendars", &["get"]),
            ("/api/v1/batches/{id}/seal", &["post"]),
            ("/api/v1/stats", &["get"]),
            ("/api/v1/executors", &["get"]),
            ("/api/v1/audit", &["get"]),
        ] {
            for method in methods {
                assert!(described["paths"][path][method].is_object(), "{method} {path}");
            }
        }
        let text = described.to_string();
        for reference in text.split("#/components/schemas/").skip(1) {
            let name = reference.split('"').next().unwrap();
            assert!(described["components"]["schemas"][name].is_object(), "{name}");
        }
    }
}
