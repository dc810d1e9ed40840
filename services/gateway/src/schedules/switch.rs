//! Pause and resume: of one schedule, and of all schedules and types.

use axum::{extract::Path, http::StatusCode, response::Response};
use domain::TypeSpec;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    body::{Whole, json, parse_or_default},
    gate::{Actor, Gate},
    refusal::{Refusal, RefusalShape},
    schedules::schedule_json::{Outline, ScheduleJson},
    tasks::reason,
    types::Why,
};

/// Schedules in one read of all of them.
const PAGE: usize = 1_000;

/// Why.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WhyBody {
    /// Shown beside what is paused.
    #[serde(default)]
    reason: String,
}

/// What was switched.
#[derive(Serialize, ToSchema)]
pub(crate) struct SwitchedAll {
    /// Schedules that were not so before.
    schedules: usize,
    /// Types that were not so before.
    types: usize,
}

/// Pauses a schedule: it fires nothing until it is resumed.
#[utoipa::path(
    post, path = "/api/v1/schedules/{name}/pause", tag = "schedules", request_body = WhyBody,
    params(("name" = String, Path)),
    responses((status = 200, body = ScheduleJson, description = "the schedule after"), (status = 404, body = RefusalShape, description = "none"))
)]
pub(crate) async fn pause(
    gate: Gate,
    actor: Actor,
    Path(name): Path<String>,
    whole: Whole,
) -> Result<Response, Refusal> {
    gate.switch_one(actor, name, &whole, true).await
}

/// Resumes a schedule: its misfire policy decides about what came in between.
#[utoipa::path(
    post, path = "/api/v1/schedules/{name}/resume", tag = "schedules", request_body = WhyBody,
    params(("name" = String, Path)),
    responses((status = 200, body = ScheduleJson, description = "the schedule after"), (status = 404, body = RefusalShape, description = "none"))
)]
pub(crate) async fn resume(
    gate: Gate,
    actor: Actor,
    Path(name): Path<String>,
    whole: Whole,
) -> Result<Response, Refusal> {
    gate.switch_one(actor, name, &whole, false).await
}

/// Pauses every schedule and every type: nothing fires, and nothing starts.
#[utoipa::path(
    post, path = "/api/v1/pause", tag = "schedules", request_body = WhyBody,
    responses((status = 200, body = SwitchedAll, description = "how many were switched"))
)]
pub(crate) async fn pause_all(gate: Gate, actor: Actor, whole: Whole) -> Result<Response, Refusal> {
    gate.switch_all(actor, &whole, true).await
}

/// Resumes every schedule and every type, also those that were paused one by one.
#[utoipa::path(
    post, path = "/api/v1/resume", tag = "schedules", request_body = WhyBody,
    responses((status = 200, body = SwitchedAll, description = "how many were switched"))
)]
pub(crate) async fn resume_all(gate: Gate, actor: Actor, whole: Whole) -> Result<Response, Refusal> {
    gate.switch_all(actor, &whole, false).await
}

impl Gate {
    async fn switch_one(
        &self,
        actor: Actor,
        name: String,
        whole: &Whole,
        paused: bool,
    ) -> Result<Response, Refusal> {
        let body: WhyBody = parse_or_default(&whole.body)?;
        let origin = self.origin(actor.clone(), reason(body.reason)?);
        self.schedule(&name).await?;
        self.switch_schedules(&origin, std::slice::from_ref(&name), paused)
            .await?;
        if !paused {
            self.replan(&actor, &name, &self.calendars().await?).await?;
        }
        let view = self.schedule(&name).await?;
        let outline = Outline::of(&view.spec);
        Ok(json(StatusCode::OK, &ScheduleJson::of(&view, outline)))
    }

    async fn switch_all(&self, actor: Actor, whole: &Whole, paused: bool) -> Result<Response, Refusal> {
        let body: WhyBody = parse_or_default(&whole.body)?;
        let why = reason(body.reason)?;
        let verb = if paused { "pause" } else { "resume" };
        let (_, types) = self.store.types().await?;
        let types = types.into_iter().filter(|spec| spec.paused != paused);
        let types: Vec<_> = types.map(|spec| TypeSpec { paused, ..spec }).collect();
        self.put_types(&types, &actor, Why::of_all(verb, &why)).await?;
        let origin = self.origin(actor, why);
        let (mut schedules, mut after) = (0, None::<String>);
        loop {
            let (views, next) = self.schedules_after(after.as_deref(), PAGE).await?;
            let other = views.iter().filter(|view| view.plan.is_paused() != paused);
            let names: Vec<_> = other.map(|view| view.plan.name.clone()).collect();
            schedules += self.switch_schedules(&origin, &names, paused).await?.len();
            after = next;
            if after.is_none() {
                break;
            }
        }
        let types = types.len();
        Ok(json(StatusCode::OK, &SwitchedAll { schedules, types }))
    }
}
