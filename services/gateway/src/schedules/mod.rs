//! `/schedules` and `/calendars`.

pub(crate) mod calendars;
pub(crate) mod declare;
mod list;
mod put;
mod schedule_json;
mod show;

use axum::{Router, routing::get};

use crate::gate::Entrance;

#[derive(utoipa::OpenApi)]
#[openapi(paths(list::list, show::show, show::delete, calendars::list))]
pub(crate) struct Api;

/// The routes, below `/api/v1`.
pub(crate) fn routes() -> Router<Entrance> {
    Router::new()
        .route("/schedules", get(list::list))
        .route("/schedules/{name}", get(show::show).delete(show::delete))
        .route("/calendars", get(calendars::list))
}

/// The calendar that a schedule names.
pub(crate) fn calendar_of(view: &store::ScheduleView) -> Option<String> {
    schedule_json::Outline::of(&view.spec).calendar
}
