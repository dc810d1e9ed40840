//! `POST /schedules/{name}/backlog`: an operator decides what becomes of everything that was missed.

use admission::Problem;
use axum::{extract::Path, http::StatusCode, response::Response};
use domain::{Millis, duration, schedule_partition};
use plan::{Choice, Plan, Policy, Reason, Record, Settlement};
use serde::{Deserialize, Serialize};
use store::{Fired, Firing, Hint, NewTrigger, Origin, PlanRefusal, ScheduleView};
use utoipa::ToSchema;

use crate::{
    body::{Whole, json, parse},
    gate::{Actor, Gate},
    play::play,
    refusal::{Refusal, RefusalShape},
    schedules::{
        backfill::FIRES_MAX,
        backlog::{WouldJson, standing},
        rate::Rate,
        show::plan_of,
        trigger::refused,
    },
    tasks::reason,
    time::instant,
};

/// How often a schedule that moves in between is read again.
const ROUNDS: usize = 8;
/// For so long the schedulers leave a schedule alone whose backlog is being fired at a rate, in milliseconds.
const OURS_MS: Millis = 60_000;

/// A decision about everything that is due by now.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SettleBody {
    /// `skip`, `fire_once`, `catch_up` or `range`.
    choice: String,
    /// Where a range begins.
    from: Option<String>,
    /// Where a range ends; excluded.
    to: Option<String>,
    /// The most fires of a catch-up.
    max: Option<u32>,
    /// How old a fire of a catch-up may be: `2h`.
    within: Option<String>,
    /// How fast the fires become due, such as `10/m`; at once if not given.
    rate: Option<String>,
    /// Only says what would happen.
    #[serde(default)]
    dry_run: bool,
    /// Kept in the tasks' timelines.
    #[serde(default)]
    reason: String,
}

/// What was decided, or would be.
#[derive(Serialize, ToSchema)]
pub(crate) struct Settled {
    schedule: String,
    dry_run: bool,
    /// How many instants it speaks of, up to 100,000.
    count: u64,
    #[serde(flatten)]
    #[schema(inline)]
    would: WouldJson,
    /// Whether the decision stands. The schedulers carry it out, of a paused schedule once it is resumed.
    decided: bool,
}

/// Decides about everything that a schedule missed, before anything of it runs.
#[utoipa::path(
    post, path = "/api/v1/schedules/{name}/backlog", tag = "schedules", request_body = SettleBody,
    params(("name" = String, Path)),
    responses(
        (status = 200, body = Settled, description = "what was decided"),
        (status = 404, body = RefusalShape, description = "there is no such schedule"),
        (status = 409, body = RefusalShape, description = "not as it stands, such as a rate while it is paused"),
    )
)]
pub(crate) async fn settle(
    gate: Gate,
    actor: Actor,
    Path(name): Path<String>,
    whole: Whole,
) -> Result<Response, Refusal> {
    let body: SettleBody = parse(&whole.body)?;
    let (choice, rate) = (choice(&body)?, rate(body.rate.as_deref())?);
    let origin = gate.origin(actor, reason(body.reason)?);
    for _ in 0..ROUNDS {
        let view = gate.schedule(&name).await?;
        let plan = plan_of(&view, &gate.calendars().await?)?;
        let now = gate.store.ping().await?;
        let stands = standing(&view)?;
        let count = plan.backlog(&stands, now).count;
        let would = plan.would(&stands, now, choice, count);
        let mut answer = Settled {
            schedule: name.clone(),
            dry_run: body.dry_run,
            count,
            would: WouldJson::of(&would),
            decided: false,
        };
        let Some(settled) = plan.settle(&stands, now, choice).filter(|_| !body.dry_run) else {
            return Ok(json(StatusCode::OK, &answer));
        };
        let done = match rate {
            None => gate.decide(&origin, &view, &settled).await?,
            Some(rate) => {
                refuse_rate(&view, would.fires)?;
                gate.fire_slowly(&origin, view, &plan, settled, now, rate).await?
            }
        };
        match done {
            Ok(()) => {
                answer.decided = true;
                return Ok(json(StatusCode::OK, &answer));
            }
            Err(PlanRefusal::Moved) => {}
            Err(refusal) => return Err(refused(&name, refusal)),
        }
    }
    Err(refused(&name, PlanRefusal::Moved))
}

fn choice(body: &SettleBody) -> Result<Choice, Refusal> {
    let range = body.from.is_some() || body.to.is_some();
    let bounds = body.max.is_some() || body.within.is_some();
    let stray = |field: &str, of: &str| {
        let reason = format!("means nothing for {}", body.choice);
        Err(Refusal::malformed(
            field,
            reason,
            &format!("leave it out, or choose {of}"),
        ))
    };
    match body.choice.as_str() {
        "range" if bounds => stray("max", "catch_up"),
        "skip" | "fire_once" | "catch_up" if range => stray("from", "range"),
        "skip" | "fire_once" if bounds => stray("max", "catch_up"),
        "skip" => Ok(Choice::Policy(Policy::Skip)),
        "fire_once" => Ok(Choice::Policy(Policy::FireOnce)),
        "catch_up" => {
            let within = body.within.as_deref().map(duration::parse_ms).transpose();
            let within = within.map_err(|error| Refusal::malformed("within", error, "write 2h"))?;
            Ok(Choice::Policy(Policy::CatchUp {
                max: body.max.unwrap_or(plan::CATCH_UP_MAX),
                within_ms: within.unwrap_or(plan::CATCH_UP_WITHIN_MS),
            }))
        }
        "range" => {
            let (from, to) = half_open(body.from.as_deref(), body.to.as_deref())?;
            Ok(Choice::Range { from, to })
        }
        _ => Err(Refusal::malformed(
            "choice",
            "is not known",
            "give skip, fire_once, catch_up or range",
        )),
    }
}

/// A range of instants; its end is excluded.
pub(crate) fn half_open(from: Option<&str>, to: Option<&str>) -> Result<(Millis, Millis), Refusal> {
    let read = |field: &'static str, text: Option<&str>| {
        let missing = || Refusal::malformed(field, "is missing", "give both ends of the range");
        let text = text.ok_or_else(missing)?;
        instant(text).map_err(|error| Refusal::malformed(field, error, ""))
    };
    let (from, to) = (read("from", from)?, read("to", to)?);
    if to <= from {
        return Err(Refusal::malformed(
            "to",
            "is not after from",
            "give a later instant; it is excluded",
        ));
    }
    Ok((from, to))
}

pub(crate) fn rate(text: Option<&str>) -> Result<Option<Rate>, Refusal> {
    let read = text.map(Rate::parse).transpose();
    read.map_err(|error| Refusal::malformed("rate", error, ""))
}

fn refuse_rate(view: &ScheduleView, fires: u64) -> Result<(), Refusal> {
    if view.plan.is_paused() {
        let reason = "is only known to fires that are made now, and the schedule is paused";
        let remedy = "leave it out, or skip the backlog, resume, and backfill at a rate";
        return Err(Refusal::conflict("rate", reason, remedy));
    }
    if fires > FIRES_MAX as u64 {
        let reason = format!("would make {fires} fires, more than {FIRES_MAX} at a rate");
        return Err(Refusal::invalid(vec![Problem::new(
            "choice",
            reason,
            "choose fewer",
        )]));
    }
    Ok(())
}

impl Gate {
    /// Keeps a decision with the schedule; the schedulers carry it out.
    async fn decide(
        &self,
        origin: &Origin,
        view: &ScheduleView,
        settled: &Settlement,
    ) -> Result<Result<(), PlanRefusal>, Refusal> {
        let firing = Firing {
            decision: Settlement::keep(Some(settled)).into(),
            ..Firing::untouched(&view.plan)
        };
        // The same decision stands already.
        if firing.decision == view.plan.decision {
            return Ok(Ok(()));
        }
        Ok(self.fire(origin, firing).await?.map(drop))
    }

    /// Fires what was decided, slice by slice, as a scheduler does, but each task due a while after the one before.
    async fn fire_slowly(
        &self,
        origin: &Origin,
        mut view: ScheduleView,
        plan: &Plan,
        settled: Settlement,
        now: Millis,
        rate: Rate,
    ) -> Result<Result<(), PlanRefusal>, Refusal> {
        let mut stands = standing(&view)?;
        stands.settlement = Some(settled);
        let mut number = 0;
        loop {
            let slice = plan.slice(&stands, now);
            let mut records = Vec::with_capacity(slice.records.len());
            for record in &slice.records {
                records.push(self.record(&view, plan, record, now, rate, &mut number).await?);
            }
            let goes_on = slice.standing.settlement.is_some();
            let due = slice.next.map_or(0, |next| next.due);
            let firing = Firing {
                cursor: slice.standing.cursor,
                next: slice.next.map_or(0, |next| next.planned_at),
                due: if goes_on { due.max(now + OURS_MS) } else { due },
                decision: Settlement::keep(slice.standing.settlement.as_ref()).into(),
                records,
                ..Firing::untouched(&view.plan)
            };
            match self.fire(origin, firing).await? {
                Ok(fired) => view.plan = fired.plan,
                Err(refusal) => return Ok(Err(refusal)),
            }
            if !goes_on || view.plan.is_used_up() {
                return Ok(Ok(()));
            }
            stands = standing(&view)?;
        }
    }

    async fn record(
        &self,
        view: &ScheduleView,
        plan: &Plan,
        record: &Record,
        now: Millis,
        rate: Rate,
        number: &mut usize,
    ) -> Result<NewTrigger, Refusal> {
        let mut task = None;
        if record.outcome == domain::TriggerOutcome::Fired {
            let mut made = self.planned_task(view, plan, record.planned_at, now).await?;
            if record.reason == Some(Reason::Backlog) {
                made.delay_ms = rate.delay_ms(*number);
                *number += 1;
            }
            task = Some(made);
        }
        Ok(admission::trigger(record, task))
    }

    /// Moves one schedule; hints and events are on their way when it returns.
    pub(crate) async fn fire(
        &self,
        origin: &Origin,
        firing: Firing,
    ) -> Result<Result<Fired, PlanRefusal>, Refusal> {
        let partition = schedule_partition(&firing.name, self.store.partitions());
        let firings = [firing];
        let reply = play(|nonce| self.store.fire(partition, nonce, origin, &firings)).await?;
        self.announcer.announce(reply.outbox);
        let Some(answer) = reply.items.into_iter().next() else {
            return Err(Refusal::unavailable("the store gave no answer for this schedule"));
        };
        if let Ok(fired) = &answer {
            for (record, done) in firings[0].records.iter().zip(&fired.records) {
                if let (Some(task), Hint::Ready) = (&record.task, done.hint) {
                    self.hint_ready(partition, &task.pool, task.tier, &task.task_type)
                        .await;
                }
            }
        }
        Ok(answer)
    }
}
