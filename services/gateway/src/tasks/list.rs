//! `GET /tasks` and `GET /dead`: tasks, newest first.

use axum::{http::StatusCode, response::Response};
use domain::{Status, TaskId, Tier};
use runtime::clock::now_ms;
use store::TaskFilter;

use crate::{
    body::{Params, json},
    gate::Gate,
    page::{Items, page},
    refusal::{Refusal, RefusalShape},
    tasks::task_json::TaskJson,
    time::moment,
};

const PARAMS: [&str; 10] = [
    "type",
    "status",
    "tier",
    "batch",
    "schedule",
    "error_code",
    "since",
    "until",
    "limit",
    "cursor",
];

/// Lists tasks, newest first. A page may be short, even empty, and still have a `next`.
#[utoipa::path(
    get, path = "/api/v1/tasks", tag = "tasks",
    params(
        ("type" = Option<String>, Query), ("status" = Option<String>, Query), ("tier" = Option<String>, Query),
        ("batch" = Option<String>, Query), ("schedule" = Option<String>, Query),
        ("error_code" = Option<String>, Query),
        ("since" = Option<String>, Query, description = "accepted at or after: an instant, a day, or `24h` ago"),
        ("until" = Option<String>, Query, description = "accepted before"),
        ("limit" = Option<u16>, Query, description = "1 to 1,000, default 100"),
        ("cursor" = Option<String>, Query, description = "the `next` of the page before"),
    ),
    responses(
        (status = 200, description = "`items` and `next`"),
        (status = 400, description = "a filter that can't be read", body = RefusalShape),
    )
)]
pub(crate) async fn list(gate: Gate, params: Params) -> Result<Response, Refusal> {
    let params = params.only(&PARAMS)?;
    answer(&gate, &filter(&params)?, &params).await
}

/// Lists dead tasks.
#[utoipa::path(
    get, path = "/api/v1/dead", tag = "tasks",
    params(
        ("type" = Option<String>, Query), ("tier" = Option<String>, Query), ("batch" = Option<String>, Query),
        ("schedule" = Option<String>, Query), ("error_code" = Option<String>, Query),
        ("since" = Option<String>, Query), ("until" = Option<String>, Query),
        ("limit" = Option<u16>, Query), ("cursor" = Option<String>, Query),
    ),
    responses((status = 200, description = "`items` and `next`"))
)]
pub(crate) async fn dead(gate: Gate, params: Params) -> Result<Response, Refusal> {
    let known: Vec<_> = PARAMS.into_iter().filter(|name| *name != "status").collect();
    let params = params.only(&known)?;
    let filter = TaskFilter {
        status: Some(Status::Dead),
        ..filter(&params)?
    };
    answer(&gate, &filter, &params).await
}

async fn answer(gate: &Gate, filter: &TaskFilter, params: &Params) -> Result<Response, Refusal> {
    let listed = gate
        .store
        .list(filter, &page(params)?)
        .await
        .map_err(|error| match error {
            store::Error::Corrupt(reason) if reason.contains("cursor") => {
                Refusal::malformed("cursor", reason, "take the `next` of the page before")
            }
            error => error.into(),
        })?;
    let items = listed.items.iter().map(TaskJson::brief).collect();
    Ok(json(
        StatusCode::OK,
        &Items {
            items,
            next: listed.next,
        },
    ))
}

/// The filters of a query.
fn filter(params: &Params) -> Result<TaskFilter, Refusal> {
    let now = now_ms();
    let status = |text: &str| {
        let names = Status::ALL.map(Status::as_str).join(", ");
        Status::parse(text).ok_or_else(|| format!("is one of {names}"))
    };
    Ok(TaskFilter {
        task_type: params.get("type").map(str::to_owned),
        status: params.read("status", status)?,
        tier: params.read("tier", str::parse::<Tier>)?,
        batch: params.read("batch", str::parse::<TaskId>)?,
        schedule: params.get("schedule").map(str::to_owned),
        error_code: params.get("error_code").map(str::to_owned),
        since: params.read("since", |text| moment(text, now))?,
        until: params.read("until", |text| moment(text, now))?,
    })
}
