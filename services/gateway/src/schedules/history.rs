//! `GET /schedules/{name}/triggers`: what became of the planned instants.

use axum::{extract::Path, http::StatusCode, response::Response};
use domain::{Millis, TaskId, TriggerOutcome};
use plan::{Plan, Reason};
use serde::Serialize;
use store::{ScheduleView, Trigger, TriggerRange};
use utoipa::ToSchema;

use crate::{
    body::{Params, json},
    gate::Gate,
    page::{Items, page},
    refusal::{Refusal, RefusalShape},
    schedules::{put::passed, show::plan_of},
    time::{Instant, moment},
};

const PARAMS: [&str; 6] = ["limit", "cursor", "since", "until", "outcome", "order"];

/// A record of the ledger: of one planned instant, or of consecutive ones that ended alike.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Trigger)]
pub(crate) struct TriggerJson {
    schedule: String,
    incarnation: u64,
    /// The planned instant, of a range its first.
    #[schema(value_type = String)]
    planned_at: Instant,
    /// The last planned instant of a range.
    #[schema(value_type = Option<String>)]
    to: Option<Instant>,
    /// How many planned instants it stands for.
    count: u32,
    /// When it was recorded: of a fire, when it fired.
    #[schema(value_type = Option<String>)]
    actual_at: Option<Instant>,
    /// Of a fire: how long after it was due, in milliseconds.
    lateness_ms: Option<i64>,
    /// `fired`, `skipped` or `missed`.
    outcome: &'static str,
    reason: String,
    #[schema(value_type = Option<String>)]
    task_id: Option<TaskId>,
    /// The batch that the task makes, if the schedule's fires are batches.
    #[schema(value_type = Option<String>)]
    batch_id: Option<TaskId>,
    /// Asked for by a person, and none of the planned instants.
    manual: bool,
    /// Of instants in a pause that lasts: how they end is decided when it is resumed.
    undecided: bool,
}

/// A page of records, as OpenAPI describes it.
#[derive(Serialize, ToSchema)]
#[schema(as = Triggers)]
pub(crate) struct TriggersShape {
    items: Vec<TriggerJson>,
    next: Option<String>,
}

/// Shows what became of the planned instants of a schedule, newest first. Also works where the schedule is deleted.
#[utoipa::path(
    get, path = "/api/v1/schedules/{name}/triggers", tag = "schedules",
    params(
        ("name" = String, Path), ("limit" = Option<u32>, Query), ("cursor" = Option<String>, Query),
        ("since" = Option<String>, Query, description = "planned at or after"),
        ("until" = Option<String>, Query, description = "planned before"),
        ("outcome" = Option<String>, Query, description = "fired, skipped or missed"),
        ("order" = Option<String>, Query, description = "newest_first (the default) or oldest_first"),
    ),
    responses(
        (status = 200, body = TriggersShape, description = "a page"),
        (status = 404, body = RefusalShape, description = "there is no such schedule, and no record of one"),
    )
)]
pub(crate) async fn of_schedule(
    gate: Gate,
    params: Params,
    Path(name): Path<String>,
) -> Result<Response, Refusal> {
    history(&gate, params.only(&PARAMS)?, &name).await
}

/// The same for the schedule that `schedule` names.
#[utoipa::path(
    get, path = "/api/v1/triggers", tag = "schedules",
    params(
        ("schedule" = String, Query), ("limit" = Option<u32>, Query), ("cursor" = Option<String>, Query),
        ("since" = Option<String>, Query), ("until" = Option<String>, Query),
        ("outcome" = Option<String>, Query), ("order" = Option<String>, Query),
    ),
    responses((status = 200, body = TriggersShape, description = "a page"))
)]
pub(crate) async fn list(gate: Gate, params: Params) -> Result<Response, Refusal> {
    let mut known = PARAMS.to_vec();
    known.push("schedule");
    let params = params.only(&known)?;
    let Some(name) = params.get("schedule").map(str::to_owned) else {
        let remedy = "name the schedule whose records are wanted";
        return Err(Refusal::malformed("schedule", "is missing", remedy));
    };
    history(&gate, params, &name).await
}

async fn history(gate: &Gate, params: Params, name: &str) -> Result<Response, Refusal> {
    let now = gate.store.ping().await?;
    let outcome = params.read("outcome", |text| {
        let named = TriggerOutcome::ALL.into_iter().find(|one| one.as_str() == text);
        named.ok_or("is fired, skipped or missed")
    })?;
    let range = range(&params, now)?;
    let page = page(&params)?;
    let view = gate.store.schedule(name).await?;
    let found = gate.store.triggers(name, &range, &page).await;
    let found = found.map_err(|error| match (error, &page.cursor) {
        (store::Error::Corrupt(_), Some(_)) => Refusal::malformed(
            "cursor",
            "is not one that a list gave",
            "copy next from the page before",
        ),
        (error, _) => error.into(),
    })?;
    if view.is_none() && found.items.is_empty() && page.cursor.is_none() {
        return Err(Refusal::missing("schedule", format!("{name:?}")));
    }
    let calendars = gate.calendars().await?;
    let plan = view.as_ref().and_then(|view| plan_of(view, &calendars).ok());
    let current = view.as_ref().zip(plan.as_ref());
    let mut items: Vec<_> = found.items.iter().map(|one| shown(name, one, current)).collect();
    let is_end = match range.newest_first {
        true => page.cursor.is_none(),
        false => found.next.is_none(),
    };
    if let Some((view, plan)) = current.filter(|_| is_end) {
        let mut waiting = undecided(view, plan, now, &range);
        match range.newest_first {
            true => {
                waiting.reverse();
                items.splice(0..0, waiting);
            }
            false => items.extend(waiting),
        }
    }
    items.retain(|one| outcome.is_none_or(|outcome| one.outcome == outcome.as_str()));
    let next = found.next;
    Ok(json(StatusCode::OK, &Items { items, next }))
}

fn range(params: &Params, now: Millis) -> Result<TriggerRange, Refusal> {
    let newest_first = params.read("order", |text| match text {
        "newest_first" => Ok(true),
        "oldest_first" => Ok(false),
        _ => Err("is newest_first or oldest_first"),
    })?;
    Ok(TriggerRange {
        since: params.read("since", |text| moment(text, now))?,
        until: params.read("until", |text| moment(text, now))?,
        newest_first: newest_first.unwrap_or(true),
    })
}

fn shown(name: &str, trigger: &Trigger, current: Option<(&ScheduleView, &Plan)>) -> TriggerJson {
    let fired = trigger.outcome == TriggerOutcome::Fired;
    // Of an earlier definition or incarnation the spread is not known any more.
    let due = current
        .filter(|(view, _)| view.plan.incarnation == trigger.incarnation && !trigger.manual)
        .and_then(|(_, plan)| plan.next_after(trigger.planned_at - 1))
        .filter(|next| next.planned_at == trigger.planned_at)
        .map_or(trigger.planned_at, |next| next.due);
    let makes_batches = current.is_some_and(|(view, plan)| {
        view.plan.incarnation == trigger.incarnation && plan.schedule().fan_out.is_some()
    });
    TriggerJson {
        schedule: name.to_owned(),
        incarnation: trigger.incarnation,
        planned_at: Instant::of(trigger.planned_at),
        to: (trigger.to != trigger.planned_at).then_some(Instant::of(trigger.to)),
        count: trigger.count,
        actual_at: Some(Instant::of(trigger.at)),
        lateness_ms: fired.then_some(trigger.at - due).map(|late| late.max(0)),
        outcome: trigger.outcome.as_str(),
        reason: trigger.reason.clone(),
        task_id: trigger.task,
        batch_id: trigger.task.filter(|_| makes_batches),
        manual: trigger.manual,
        undecided: false,
    }
}

/// The instants of a pause that lasts, oldest first. Nothing is written of them until it is resumed.
fn undecided(view: &ScheduleView, plan: &Plan, now: Millis, range: &TriggerRange) -> Vec<TriggerJson> {
    if !view.plan.is_paused() || view.plan.is_used_up() {
        return Vec::new();
    }
    let records = passed(plan, &view.plan, now, Reason::Changed).into_iter();
    records
        .filter(|record| record.reason == Some(Reason::Paused))
        .filter(|record| range.since.is_none_or(|since| record.planned_at >= since))
        .filter(|record| range.until.is_none_or(|until| record.planned_at < until))
        .map(|record| TriggerJson {
            schedule: view.plan.name.clone(),
            incarnation: view.plan.incarnation,
            planned_at: Instant::of(record.planned_at),
            to: (record.to != record.planned_at).then_some(Instant::of(record.to)),
            count: record.count,
            actual_at: None,
            lateness_ms: None,
            outcome: record.outcome.as_str(),
            reason: record.reason_words().to_owned(),
            task_id: None,
            batch_id: None,
            manual: false,
            undecided: true,
        })
        .collect()
}
