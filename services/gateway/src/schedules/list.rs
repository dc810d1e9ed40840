//! `GET /schedules`: by name, over all partitions.

use axum::{http::StatusCode, response::Response};
use domain::valid_type;
use futures::future::try_join_all;
use serde::Serialize;
use store::ScheduleView;
use utoipa::ToSchema;

use crate::{
    body::{Params, json},
    gate::Gate,
    page::{Items, page},
    refusal::Refusal,
    schedules::schedule_json::{Outline, ScheduleJson},
};

/// Schedules of one partition in one read, at most.
const READ_MAX: usize = 256;

/// A page of schedules, as OpenAPI describes it.
#[derive(Serialize, ToSchema)]
#[schema(as = Schedules)]
pub(crate) struct SchedulesShape {
    items: Vec<ScheduleJson>,
    next: Option<String>,
}

/// Lists schedules by name. A page may be short and still have a `next`.
#[utoipa::path(
    get, path = "/api/v1/schedules", tag = "schedules",
    params(
        ("limit" = Option<u32>, Query), ("cursor" = Option<String>, Query),
        ("type" = Option<String>, Query), ("calendar" = Option<String>, Query),
        ("state" = Option<String>, Query, description = "active, paused or finished"),
        ("prefix" = Option<String>, Query, description = "how the name begins"),
    ),
    responses((status = 200, body = SchedulesShape, description = "a page"))
)]
pub(crate) async fn list(gate: Gate, params: Params) -> Result<Response, Refusal> {
    let params = params.only(&["limit", "cursor", "type", "calendar", "state", "prefix"])?;
    let state = params.read("state", |text| match text {
        "active" | "paused" | "finished" => Ok(text.to_owned()),
        _ => Err("is active, paused or finished"),
    })?;
    let page = page(&params)?;
    let (views, next) = gate
        .schedules_after(after(page.cursor.as_deref())?, page.limit)
        .await?;
    let items = views.iter().map(|view| (view, Outline::of(&view.spec)));
    let items = items.filter(|(view, outline)| {
        let is = |name: &str, value: &str| params.get(name).is_none_or(|wanted| wanted == value);
        is("type", &outline.task_type)
            && is("calendar", outline.calendar.as_deref().unwrap_or_default())
            && state
                .as_deref()
                .is_none_or(|state| state == view.plan.state().as_str())
            && params
                .get("prefix")
                .is_none_or(|prefix| view.plan.name.starts_with(prefix))
    });
    let items = items
        .map(|(view, outline)| ScheduleJson::of(view, outline))
        .collect();
    Ok(json(StatusCode::OK, &Items { items, next }))
}

/// The cursor of a list by name is a name.
pub(crate) fn after(cursor: Option<&str>) -> Result<Option<&str>, Refusal> {
    match cursor {
        Some(name) if !valid_type(name) => Err(Refusal::malformed(
            "cursor",
            "is not one that a list gave",
            "copy next from the page before",
        )),
        other => Ok(other),
    }
}

impl Gate {
    /// Schedules by name after one, at most `limit`, and the name after which there may be more.
    pub(crate) async fn schedules_after(
        &self,
        after: Option<&str>,
        limit: usize,
    ) -> Result<(Vec<ScheduleView>, Option<String>), store::Error> {
        let each = limit.min(READ_MAX);
        let reads =
            (0..self.store.partitions()).map(|partition| self.store.schedules(partition, after, each));
        let parts = try_join_all(reads).await?;
        // Beyond the end of a part that may go on nothing is known of that partition.
        let ends = parts.iter().filter(|part| part.len() >= each);
        let known = ends.filter_map(|part| Some(part.last()?.plan.name.clone())).min();
        let mut views: Vec<_> = parts
            .into_iter()
            .flatten()
            .filter(|view| known.as_ref().is_none_or(|known| view.plan.name <= *known))
            .collect();
        views.sort_by(|one, other| one.plan.name.cmp(&other.plan.name));
        let more = known.is_some() || views.len() > limit;
        views.truncate(limit);
        let next = views.last().filter(|_| more).map(|view| view.plan.name.clone());
        Ok((views, next))
    }

    /// One schedule.
    ///
    /// # Errors
    /// 404 where there is none.
    pub(crate) async fn schedule(&self, name: &str) -> Result<ScheduleView, Refusal> {
        let found = self.store.schedule(name).await?;
        found.ok_or_else(|| Refusal::missing("schedule", format!("{name:?}")))
    }
}
