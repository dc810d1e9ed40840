//! `/schedules`, `/calendars`, and what holds for all of them.

mod backfill;
mod backlog;
pub(crate) mod calendars;
pub(crate) mod declare;
mod fan_out;
mod history;
mod list;
mod preview;
mod put;
mod rate;
mod schedule_json;
mod settle;
mod show;
mod switch;
mod trigger;

use axum::{
    Router,
    routing::{get, post},
};

use crate::gate::Entrance;

#[derive(utoipa::OpenApi)]
#[openapi(paths(
    list::list,
    show::show,
    show::delete,
    preview::of_schedule,
    preview::of_expression,
    switch::pause,
    switch::resume,
    switch::pause_all,
    switch::resume_all,
    trigger::trigger,
    backlog::show,
    backlog::list,
    settle::settle,
    backfill::backfill,
    history::of_schedule,
    history::list,
    calendars::list,
))]
pub(crate) struct Api;

/// The routes, below `/api/v1`.
pub(crate) fn routes() -> Router<Entrance> {
    Router::new()
        .route("/schedules", get(list::list))
        .route("/schedules/preview", post(preview::of_expression))
        .route("/schedules/{name}", get(show::show).delete(show::delete))
        .route("/schedules/{name}/preview", get(preview::of_schedule))
        .route("/schedules/{name}/pause", post(switch::pause))
        .route("/schedules/{name}/resume", post(switch::resume))
        .route("/schedules/{name}/trigger", post(trigger::trigger))
        .route(
            "/schedules/{name}/backlog",
            get(backlog::show).post(settle::settle),
        )
        .route("/schedules/{name}/backfill", post(backfill::backfill))
        .route("/backlog", get(backlog::list))
        .route("/schedules/{name}/triggers", get(history::of_schedule))
        .route("/triggers", get(history::list))
        .route("/calendars", get(calendars::list))
        .route("/pause", post(switch::pause_all))
        .route("/resume", post(switch::resume_all))
}

/// The calendar that a schedule names.
pub(crate) fn calendar_of(view: &store::ScheduleView) -> Option<String> {
    schedule_json::Outline::of(&view.spec).calendar
}
