//! What was missed: the instants of a schedule that are due and without a record.

use axum::{extract::Path, http::StatusCode, response::Response};
use domain::Millis;
use plan::{Backlog, Choice, Plan, Would};
use serde::Serialize;
use store::{PlanState, ScheduleView};
use utoipa::ToSchema;

use crate::{
    body::{Params, json},
    gate::Gate,
    page::{Items, page},
    refusal::{Refusal, RefusalShape},
    schedules::{list::after, show::plan_of},
    time::Instant,
};

/// Due and without a record.
#[derive(Serialize, ToSchema)]
#[schema(as = Backlog)]
pub(crate) struct BacklogJson {
    name: String,
    /// `active` or `paused`.
    state: &'static str,
    /// How many instants, up to 100,000.
    count: u64,
    /// Whether there are no more than `count`.
    exact: bool,
    #[schema(value_type = Option<String>)]
    first: Option<Instant>,
    #[schema(value_type = Option<String>)]
    last: Option<Instant>,
    /// The schedule's own misfire policy.
    policy: &'static str,
    /// Whether somebody or a policy has decided already, and it is being carried out.
    decided: bool,
    /// What each choice would do.
    would: Vec<WouldJson>,
}

/// What a choice would do.
#[derive(Serialize, ToSchema)]
#[schema(as = Would)]
pub(crate) struct WouldJson {
    /// `skip`, `fire_once`, `catch_up` or `range`.
    pub(crate) choice: &'static str,
    /// How many instants would fire.
    pub(crate) fires: u64,
    /// How many would be passed over.
    pub(crate) passed: u64,
    #[schema(value_type = Option<String>)]
    pub(crate) first: Option<Instant>,
    #[schema(value_type = Option<String>)]
    pub(crate) last: Option<Instant>,
}

impl WouldJson {
    pub(crate) fn of(would: &Would) -> Self {
        Self {
            choice: match would.choice {
                Choice::Policy(policy) => policy.as_str(),
                Choice::Range { .. } => "range",
            },
            fires: would.fires,
            passed: would.passed,
            first: would.first.map(Instant::of),
            last: would.last.map(Instant::of),
        }
    }
}

/// A page of backlogs, as OpenAPI describes it.
#[derive(Serialize, ToSchema)]
#[schema(as = Backlogs)]
pub(crate) struct BacklogsShape {
    items: Vec<BacklogJson>,
    next: Option<String>,
}

/// Shows what a schedule missed between its cursor and now, and what each choice would do about it.
#[utoipa::path(
    get, path = "/api/v1/schedules/{name}/backlog", tag = "schedules", params(("name" = String, Path)),
    responses(
        (status = 200, body = BacklogJson, description = "what was missed"),
        (status = 404, body = RefusalShape, description = "there is no such schedule"),
    )
)]
pub(crate) async fn show(gate: Gate, Path(name): Path<String>) -> Result<Response, Refusal> {
    let view = gate.schedule(&name).await?;
    let plan = plan_of(&view, &gate.calendars().await?)?;
    let now = gate.store.ping().await?;
    Ok(json(StatusCode::OK, &backlog(&view, &plan, now)?))
}

/// Lists the schedules that missed something. A page may be short and still have a `next`.
#[utoipa::path(
    get, path = "/api/v1/backlog", tag = "schedules",
    params(("limit" = Option<u32>, Query), ("cursor" = Option<String>, Query)),
    responses((status = 200, body = BacklogsShape, description = "a page"))
)]
pub(crate) async fn list(gate: Gate, params: Params) -> Result<Response, Refusal> {
    let page = page(&params.only(&["limit", "cursor"])?)?;
    let calendars = gate.calendars().await?;
    let now = gate.store.ping().await?;
    let (views, next) = gate
        .schedules_after(after(page.cursor.as_deref())?, page.limit)
        .await?;
    let mut items = Vec::new();
    for view in &views {
        let is_behind = view.plan.next != 0 && view.plan.next <= now;
        // One that can't be read is no reason to hide the others.
        let Some(plan) = is_behind.then(|| plan_of(view, &calendars).ok()).flatten() else {
            continue;
        };
        items.extend(backlog(view, &plan, now).ok().filter(|one| one.count > 0));
    }
    Ok(json(StatusCode::OK, &Items { items, next }))
}

fn backlog(view: &ScheduleView, plan: &Plan, now: Millis) -> Result<BacklogJson, Refusal> {
    let standing = standing(view)?;
    let found = match view.plan.state() {
        PlanState::Finished => Backlog {
            count: 0,
            is_exact: true,
            first: None,
            last: None,
            would: Vec::new(),
        },
        PlanState::Active | PlanState::Paused => plan.backlog(&standing, now),
    };
    Ok(BacklogJson {
        name: view.plan.name.clone(),
        state: view.plan.state().as_str(),
        count: found.count,
        exact: found.is_exact,
        first: found.first.map(Instant::of),
        last: found.last.map(Instant::of),
        policy: plan.schedule().misfire.policy.as_str(),
        decided: standing.settlement.is_some(),
        would: found.would.iter().map(WouldJson::of).collect(),
    })
}

/// Where a schedule stands.
///
/// # Errors
/// 409 where the decision that it keeps is none of this version.
pub(crate) fn standing(view: &ScheduleView) -> Result<plan::Standing, Refusal> {
    admission::standing(&view.plan).map_err(|error| {
        let field = format!("schedule ({})", view.plan.name);
        Refusal::conflict(&field, error.to_string(), "apply it again, changed")
    })
}
