//! `POST /schedules/{name}/trigger`: a fire that a person asks for, beside the planned instants.

use admission::{Planned, Problem, planned};
use axum::{extract::Path, http::StatusCode, response::Response};
use bytes::Bytes;
use domain::{Millis, TaskId, schedule_partition};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use store::{Hint, NewTask, NewTrigger, Origin, PlanRefusal, ScheduleView, Triggered};
use utoipa::ToSchema;

use crate::{
    body::{Whole, json, parse_or_default},
    gate::{Actor, Gate},
    play::play,
    refusal::{Refusal, RefusalShape},
    schedules::{fan_out, show::plan_of},
    tasks::reason,
    time::Instant,
};

/// Longest idempotency key of a trigger, in bytes.
const KEY_BYTES: usize = 200;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct TriggerBody<'a> {
    #[serde(borrow)]
    payload: Option<&'a RawValue>,
    #[serde(default)]
    idempotency_key: String,
    #[serde(default)]
    reason: String,
}

/// A fire beside the planned instants.
#[derive(ToSchema)]
#[schema(as = TriggerBody)]
#[expect(dead_code, reason = "describes a shape")]
pub(crate) struct TriggerShape {
    /// In place of the schedule's own.
    payload: Option<serde_json::Value>,
    /// The same key is the same task.
    idempotency_key: Option<String>,
    /// Kept in the task's timeline.
    reason: Option<String>,
}

/// The task of a trigger.
#[derive(Serialize, ToSchema)]
#[schema(as = Triggered)]
pub(crate) struct TriggeredJson {
    schedule: String,
    #[schema(value_type = Option<String>)]
    task_id: Option<TaskId>,
    #[schema(value_type = String)]
    planned_at: Instant,
    /// Whether it waits until earlier tasks of the schedule have ended.
    blocked: bool,
    /// Whether the key had its task already.
    existing: bool,
}

/// Fires a schedule now. It counts neither against `max_fires` nor as a planned instant, and also works while paused.
#[utoipa::path(
    post, path = "/api/v1/schedules/{name}/trigger", tag = "schedules", request_body = TriggerShape,
    params(("name" = String, Path)),
    responses(
        (status = 201, body = TriggeredJson, description = "the new task"),
        (status = 200, body = TriggeredJson, description = "the task that the key has already"),
        (status = 404, body = RefusalShape, description = "there is no such schedule"),
        (status = 409, body = RefusalShape, description = "too many of its tasks wait"),
        (status = 422, body = RefusalShape, description = "the payload is none of its type"),
    )
)]
pub(crate) async fn trigger(
    gate: Gate,
    actor: Actor,
    Path(name): Path<String>,
    whole: Whole,
) -> Result<Response, Refusal> {
    let body: TriggerBody<'_> = parse_or_default(&whole.body)?;
    if body.idempotency_key.len() > KEY_BYTES {
        let told = format!("has {} bytes, more than {KEY_BYTES}", body.idempotency_key.len());
        return Err(Refusal::malformed("idempotency_key", told, "give a shorter one"));
    }
    let origin = gate.origin(actor, reason(body.reason.clone())?);
    let view = gate.schedule(&name).await?;
    let plan = plan_of(&view, &gate.calendars().await?)?;
    let now = gate.store.ping().await?;
    let task = gate.task_by_hand(&view, &plan, &body, now).await?;
    let record = NewTrigger {
        manual: true,
        ..NewTrigger::fire(now, "manual", task)
    };
    let done = gate.record_triggers(&view, &plan, &origin, &[record]).await?;
    let done = done.into_iter().next();
    let done = done.ok_or_else(|| Refusal::unavailable("the store gave no answer for this trigger"))?;
    let done = done.map_err(|refusal| refused(&name, refusal))?;
    let code = if done.fresh {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    let answer = TriggeredJson {
        schedule: name,
        task_id: done.task,
        planned_at: Instant::of(done.planned_at),
        blocked: done.blocked,
        existing: !done.fresh,
    };
    Ok(json(code, &answer))
}

/// What a refusal of the plan table means to a client.
pub(crate) fn refused(name: &str, refusal: PlanRefusal) -> Refusal {
    let remedy = match refusal {
        PlanRefusal::Missing => return Refusal::missing("schedule", format!("{name:?}")),
        PlanRefusal::Moved => "try again",
        PlanRefusal::Paused => "resume it first",
        PlanRefusal::Finished => "raise its max_fires, or trigger it by hand",
        PlanRefusal::NotDue => "give instants of the past, up to the schedule's cursor",
        PlanRefusal::Full => "wait until some of its tasks have ended, or cancel them",
        PlanRefusal::Clock => "set the clocks of the hosts, and try again",
    };
    Refusal::conflict("schedule", refusal.to_string(), remedy)
}

fn random() -> Result<String, store::Error> {
    let mut bytes = [0; 12];
    getrandom::fill(&mut bytes)
        .map_err(|error| store::Error::Unusable(format!("this host gives no randomness: {error}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

impl Gate {
    /// The task of a trigger; one that would be dead from the start is refused.
    async fn task_by_hand(
        &self,
        view: &ScheduleView,
        plan: &plan::Plan,
        body: &TriggerBody<'_>,
        now: Millis,
    ) -> Result<NewTask, Refusal> {
        let key = match body.idempotency_key.as_str() {
            "" => format!("manual-{}", random()?),
            key => format!("manual/{key}"),
        };
        let payload = body
            .payload
            .map(|raw| Bytes::copy_from_slice(raw.get().as_bytes()));
        let types = self.types().await?;
        if let Some(rows) = &plan.schedule().fan_out {
            let own = plan.schedule().payload.as_ref();
            let own = own.map(|own| own.render(&plan.moment(now, now)));
            let given = body.payload.map(RawValue::get).or(own.as_deref());
            let problems = fan_out::payload_faults(rows, given, &types);
            if !problems.is_empty() {
                return Err(Refusal::invalid(problems));
            }
        }
        let fire = Planned {
            plan,
            incarnation: view.plan.incarnation,
            planned_at: now,
            fired_at: now,
            key: Some(&key),
            payload: payload.as_ref(),
        };
        let task = planned(fire, &types, &self.limits).map_err(Refusal::invalid)?;
        if let Some(why) = &task.rejected {
            let remedy = "give a payload that its type takes";
            return Err(Refusal::invalid(vec![Problem::new(
                "payload",
                why.as_str(),
                remedy,
            )]));
        }
        Ok(task)
    }

    /// Writes records by hand; hints and events are on their way when it returns.
    pub(crate) async fn record_triggers(
        &self,
        view: &ScheduleView,
        plan: &plan::Plan,
        origin: &Origin,
        records: &[NewTrigger],
    ) -> Result<Vec<Result<Triggered, PlanRefusal>>, Refusal> {
        let (name, incarnation) = (view.plan.name.as_str(), view.plan.incarnation);
        let partition = schedule_partition(name, self.store.partitions());
        let call = |nonce| {
            self.store
                .record_triggers(partition, nonce, origin, name, incarnation, records)
        };
        let reply = play(call).await?;
        self.announcer.announce(reply.outbox);
        for (record, done) in records.iter().zip(&reply.items) {
            if let (Some(task), Ok(done)) = (&record.task, done) {
                if done.fresh {
                    self.metrics.submitted(&task.task_type, "schedule");
                }
                if done.hint == Hint::Ready {
                    self.hint_ready(partition, &task.pool, task.tier, &task.task_type)
                        .await;
                }
            }
        }
        tracing::debug!(
            schedule = plan.schedule().name,
            records = records.len(),
            "recorded by hand"
        );
        Ok(reply.items)
    }
}
