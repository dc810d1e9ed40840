//! The task of a planned instant, by the rules of every other submission (I7).

use bytes::Bytes;
use domain::{FAN_OUT, Millis, TaskId};
use plan::{Pause, Record, Settlement, Standing, Unreadable};
use store::{NewTask, NewTrigger};

use crate::{
    Limits, Problem, Submission, TypeTable, check,
    check::{now_ms, random},
    refuse,
};

/// What of a schedule fires.
#[derive(Debug, Clone, Copy)]
pub struct Planned<'p> {
    /// The schedule with its calendar.
    pub plan: &'p plan::Plan,
    /// Which schedule of this name it is.
    pub incarnation: u64,
    /// The planned instant.
    pub planned_at: Millis,
    /// The store's clock.
    pub fired_at: Millis,
    /// The end of the idempotency key, where it is not the planned instant: of a trigger by hand.
    pub key: Option<&'p str>,
    /// The payload of a trigger by hand, in place of the schedule's own.
    pub payload: Option<&'p Bytes>,
}

/// Makes the task: with an id in the schedule's partition, and the key `<schedule>/<incarnation>@<instant in ms>`, so
/// that an instant never has two. A payload that its type refuses becomes a task that is dead from the start.
///
/// # Errors
/// What keeps the schedule from firing at all: there is no such type, or none that can be used.
pub fn planned(planned: Planned<'_>, types: &TypeTable, limits: &Limits) -> Result<NewTask, Vec<Problem>> {
    let schedule = planned.plan.schedule();
    let end = planned
        .key
        .map_or_else(|| planned.planned_at.to_string(), str::to_owned);
    let key = format!("{}/{}@{end}", schedule.name, planned.incarnation);
    let options = &schedule.options;
    let submission = || Submission {
        task_type: &schedule.task_type,
        payload: payload(planned),
        idempotency_key: &key,
        pool: options
            .pool
            .as_deref()
            .unwrap_or_else(|| rows_pool(schedule, types)),
        tier: options.tier.map_or("", domain::Tier::as_str),
        expire_after_ms: options.expire_after_ms.unwrap_or(0),
        max_retry: options.max_retry.map(u32::from),
        schedule_id: &schedule.name,
        planned_at: planned.planned_at,
        ..Submission::default()
    };
    let is_known = types.get(&schedule.task_type).is_some_and(Result::is_ok);
    let task = check(submission(), types, limits).or_else(|problems| {
        let dead = is_known.then(|| refuse(submission(), &problems, types, limits));
        dead.flatten().ok_or(problems)
    })?;
    let id = TaskId::scheduled(now_ms(), random(), &schedule.name);
    Ok(NewTask {
        id,
        sampled: telemetry::sampled(id, limits.sample_ratio),
        run_timeout_ms: options.run_timeout_ms.unwrap_or(task.run_timeout_ms),
        ..task
    })
}

/// The pool in which a handler gives the rows of a batch: that of its type, where no type says another for the batch.
fn rows_pool<'t>(schedule: &plan::Schedule, types: &'t TypeTable) -> &'t str {
    let list = match schedule.fan_out.as_ref().map(|rows| &rows.source) {
        Some(plan::Source::Handler { task_type }) if schedule.task_type == FAN_OUT => types.get(task_type),
        Some(_) | None => None,
    };
    let list = list.and_then(|known| known.as_ref().ok());
    list.map_or("", |list| &list.spec().pool)
}

fn payload(planned: Planned<'_>) -> Bytes {
    let plan = planned.plan;
    match planned.payload {
        // What a person gave goes as it is, unless it is only a part of what the task is told.
        Some(given) if plan.schedule().fan_out.is_none() => given.clone(),
        given => {
            let text = given.map(|given| String::from_utf8_lossy(given));
            plan.payload(planned.planned_at, planned.fired_at, text.as_deref())
                .into()
        }
    }
}

/// The ledger's record of what the policy engine decided, with the task of a fire.
#[must_use]
pub fn trigger(record: &Record, task: Option<NewTask>) -> NewTrigger {
    NewTrigger {
        planned_at: record.planned_at,
        to: record.to,
        count: record.count,
        outcome: record.outcome,
        reason: record.reason_words().to_owned(),
        task,
        manual: false,
    }
}

/// Where a schedule stands, as the policy engine wants to know it.
///
/// # Errors
/// When the decision that it keeps can't be read.
pub fn standing(plan: &store::Plan) -> Result<Standing, Unreadable> {
    let ended = plan.pause.as_ref().filter(|pause| pause.until != 0);
    Ok(Standing {
        cursor: plan.cursor,
        fires: plan.fires,
        pause: ended.map(|pause| Pause {
            since: pause.since,
            until: pause.until,
        }),
        settlement: Settlement::kept(&plan.decision)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Millis = 1_772_953_200_000;

    fn plan(definition: &str) -> plan::Plan {
        let schedule = plan::Schedule::parse(definition).unwrap();
        schedule.plan(|_| None).unwrap()
    }

    fn types() -> TypeTable {
        let strict = r#"{"name":"strict","handler":"echo","run_timeout":"7s","pool":"p1","input_schema":{"required":["day"]}}"#;
        TypeTable::new(1, vec![serde_json::from_str(strict).unwrap()])
    }

    fn fire(definition: &str) -> Result<NewTask, Vec<Problem>> {
        let planned_fire = Planned {
            plan: &plan(definition),
            incarnation: 9,
            planned_at: AT,
            fired_at: AT + 5,
            key: None,
            payload: None,
        };
        planned(planned_fire, &types(), &Limits::default())
    }

    #[test]
    fn a_fire_is_a_submission_in_the_schedules_partition() {
        let task = fire(
            r#"{"name":"nightly","type":"strict","cron":"0 3 * * *","zone":"UTC","tier":"high","pool":"p2",
                "max_retry":7,"run_timeout":"9s","payload":{"day":"{{planned_date}}"}}"#,
        )
        .unwrap();
        assert_eq!(task.payload, r#"{"day":"2026-03-08"}"#);
        assert_eq!(task.idempotency_key, format!("nightly/9@{AT}"));
        assert_eq!(
            (task.schedule_id.as_str(), task.planned_at, task.rejected),
            ("nightly", AT, None)
        );
        assert_eq!(
            (task.tier, task.pool.as_str(), task.max_retry, task.run_timeout_ms),
            (domain::Tier::High, "p2", 7, 9_000)
        );
        assert_eq!(task.id.partition(16), domain::schedule_partition("nightly", 16));
    }

    #[test]
    fn a_fire_that_is_a_batch_is_told_where_its_rows_come_from() {
        let task = fire(
            r#"{"name":"a","cron":"0 3 * * *","zone":"UTC","payload":{"at":"{{planned_time}}"},
                "fan_out":{"source":"handler","type":"strict","each":"strict"}}"#,
        )
        .unwrap();
        assert_eq!((task.task_type.as_str(), task.max_lost), (FAN_OUT, 10));
        assert_eq!(task.pool, "p1", "it runs where the handler is");
        let order = plan::Order::parse(std::str::from_utf8(&task.payload).unwrap()).unwrap();
        assert_eq!(order.payload.as_deref(), Some(r#"{"at":"07:00:00"}"#));
        assert_eq!(order.fan_out.each, "strict");
    }

    #[test]
    fn a_payload_that_the_type_refuses_is_dead_and_a_type_that_is_not_there_is_no_task() {
        let task =
            fire(r#"{"name":"a","type":"strict","cron":"0 3 * * *","zone":"UTC","payload":{}}"#).unwrap();
        assert!(task.rejected.unwrap().contains("day"));
        assert_eq!(task.run_timeout_ms, 7_000);
        let problems = fire(r#"{"name":"a","type":"gone","cron":"0 3 * * *","zone":"UTC"}"#).unwrap_err();
        assert!(problems[0].reason.contains("gone"), "{problems:?}");
    }
}
