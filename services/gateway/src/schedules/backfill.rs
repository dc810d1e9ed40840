//! `POST /schedules/{name}/backfill`: fires planned instants of the past that did not fire.

use std::collections::HashSet;

use admission::{Planned, Problem, planned};
use axum::{extract::Path, http::StatusCode, response::Response};
use domain::{Millis, TriggerOutcome};
use plan::Plan;
use serde::{Deserialize, Serialize};
use store::{BATCH_MAX, NewTask, NewTrigger, Origin, Page, PlanRefusal, ScheduleView, TriggerRange};
use utoipa::ToSchema;

use crate::{
    body::{Whole, json, parse},
    gate::{Actor, Gate},
    refusal::{Refusal, RefusalShape},
    schedules::{rate::Rate, settle, show::plan_of, trigger::refused},
    tasks::reason,
    time::Instant,
};

/// Most instants of one request.
pub(crate) const FIRES_MAX: usize = 10_000;
/// Records in one read.
const PAGE: usize = 1_000;

/// A range of planned instants.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BackfillBody {
    /// Where it begins.
    from: Option<String>,
    /// Where it ends; excluded.
    to: Option<String>,
    /// How fast the fires become due, such as `10/m`; at once if not given.
    rate: Option<String>,
    /// Only says what would fire.
    #[serde(default)]
    dry_run: bool,
    /// Kept in the tasks' timelines.
    #[serde(default)]
    reason: String,
}

/// What fired, or would fire.
#[derive(Serialize, ToSchema)]
pub(crate) struct Backfilled {
    schedule: String,
    dry_run: bool,
    /// Planned instants of the range, up to the schedule's cursor.
    instants: usize,
    /// How many of them fire now.
    fired: usize,
    /// How many had fired before.
    fired_before: usize,
    #[schema(value_type = Option<String>)]
    first: Option<Instant>,
    #[schema(value_type = Option<String>)]
    last: Option<Instant>,
}

/// Fires the planned instants of a range in the past that did not fire, by the definition as it stands. To ask again
/// fires nothing twice. They don't count against `max_fires`, and wait for earlier tasks where those may not overlap.
#[utoipa::path(
    post, path = "/api/v1/schedules/{name}/backfill", tag = "schedules", request_body = BackfillBody,
    params(("name" = String, Path)),
    responses(
        (status = 200, body = Backfilled, description = "what fired"),
        (status = 404, body = RefusalShape, description = "there is no such schedule"),
        (status = 409, body = RefusalShape, description = "too many of its tasks wait; ask again later"),
        (status = 422, body = RefusalShape, description = "too many instants"),
    )
)]
pub(crate) async fn backfill(
    gate: Gate,
    actor: Actor,
    Path(name): Path<String>,
    whole: Whole,
) -> Result<Response, Refusal> {
    let body: BackfillBody = parse(&whole.body)?;
    let (from, to) = settle::half_open(body.from.as_deref(), body.to.as_deref())?;
    let rate = settle::rate(body.rate.as_deref())?;
    let origin = gate.origin(actor, reason(body.reason)?);
    let view = gate.schedule(&name).await?;
    let plan = plan_of(&view, &gate.calendars().await?)?;
    let now = gate.store.ping().await?;
    // What comes after the cursor is still the schedulers' to fire.
    let end = to.min(view.plan.cursor + 1);
    let instants: Vec<_> = plan.between(from, end).take(FIRES_MAX + 1).collect();
    if instants.len() > FIRES_MAX {
        let reason = format!("holds more than {FIRES_MAX} planned instants");
        let remedy = "backfill shorter ranges one after the other";
        return Err(Refusal::invalid(vec![Problem::new("to", reason, remedy)]));
    }
    let before = gate.fired_between(&view, from, end).await?;
    let open: Vec<_> = instants
        .iter()
        .copied()
        .filter(|at| !before.contains(at))
        .collect();
    let mut answer = Backfilled {
        schedule: name.clone(),
        dry_run: body.dry_run,
        instants: instants.len(),
        fired: open.len(),
        fired_before: instants.len() - open.len(),
        first: open.first().copied().map(Instant::of),
        last: open.last().copied().map(Instant::of),
    };
    if body.dry_run {
        return Ok(json(StatusCode::OK, &answer));
    }
    answer.fired = gate.fill(&origin, &view, &plan, &open, now, rate).await?;
    answer.fired_before = instants.len() - answer.fired;
    Ok(json(StatusCode::OK, &answer))
}

fn stopped(name: &str, refusal: PlanRefusal, fired: usize) -> Refusal {
    let mut told = refused(name, refusal);
    if fired > 0 {
        told.detail = format!("{}. {fired} have fired; ask again for the others", told.detail);
    }
    told
}

impl Gate {
    /// The task of a planned instant.
    pub(crate) async fn planned_task(
        &self,
        view: &ScheduleView,
        plan: &Plan,
        planned_at: Millis,
        now: Millis,
    ) -> Result<NewTask, Refusal> {
        let fire = Planned {
            plan,
            incarnation: view.plan.incarnation,
            planned_at,
            fired_at: now,
            key: None,
            payload: None,
        };
        planned(fire, self.types().await?.as_ref(), &self.limits).map_err(Refusal::invalid)
    }

    /// Fires instants of the past; how many of them had not fired.
    async fn fill(
        &self,
        origin: &Origin,
        view: &ScheduleView,
        plan: &Plan,
        instants: &[Millis],
        now: Millis,
        rate: Option<Rate>,
    ) -> Result<usize, Refusal> {
        let mut fired = 0;
        for (call, part) in instants.chunks(BATCH_MAX).enumerate() {
            let mut records = Vec::with_capacity(part.len());
            for (place, at) in part.iter().enumerate() {
                let mut task = self.planned_task(view, plan, *at, now).await?;
                task.delay_ms = rate.map_or(0, |rate| rate.delay_ms(call * BATCH_MAX + place));
                records.push(NewTrigger::fire(*at, "backfill", task));
            }
            for done in self.record_triggers(view, plan, origin, &records).await? {
                match done {
                    Ok(done) => fired += usize::from(done.fresh),
                    Err(refusal) => return Err(stopped(&view.plan.name, refusal, fired)),
                }
            }
        }
        Ok(fired)
    }

    /// Which planned instants of a range have fired.
    async fn fired_between(
        &self,
        view: &ScheduleView,
        from: Millis,
        to: Millis,
    ) -> Result<HashSet<Millis>, store::Error> {
        let range = TriggerRange {
            since: Some(from),
            until: Some(to),
            newest_first: false,
        };
        let mut page = Page {
            limit: PAGE,
            cursor: None,
        };
        let mut fired = HashSet::new();
        loop {
            let found = self.store.triggers(&view.plan.name, &range, &page).await?;
            let own = found.items.iter().filter(|kept| {
                kept.incarnation == view.plan.incarnation
                    && kept.outcome == TriggerOutcome::Fired
                    && !kept.manual
            });
            fired.extend(own.map(|kept| kept.planned_at));
            page.cursor = found.next;
            if page.cursor.is_none() {
                return Ok(fired);
            }
        }
    }
}
