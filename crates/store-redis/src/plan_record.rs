//! The packed records of the plan table: a schedule, its live tasks, and a record of the ledger.

use domain::{Millis, Overlap, TriggerOutcome};
use store::{Error, LastFired, LastTrigger, LiveTask, NewTrigger, Pause, Plan, Trigger, Triggered};

use crate::header::Fields;
use crate::pack::{Packer, Value, unpack};
use crate::queue::id_of;
use crate::submit;

/// The fields of a schedule in order; the scripts write `P_` and the name. New fields go to the end.
pub(crate) const PLAN_FIELDS: [&str; 24] = [
    "INCARNATION",
    "VERSION",
    "CURSOR",
    "NEXT",
    "DUE",
    "OVERLAP",
    "QUEUE_MAX",
    "MAX_FIRES",
    "FIRES",
    "CREATED",
    "CHANGED",
    "PAUSED_BY",
    "PAUSED_WHY",
    "PAUSED_AT",
    "RESUMED_AT",
    "LAST_PLANNED",
    "LAST_AT",
    "LAST_OUTCOME",
    "LAST_REASON",
    "FIRED_PLANNED",
    "FIRED_AT",
    "FIRED_TASK",
    "DECISION",
    "DECISIONS",
];

fn overlap(number: u8) -> Result<Overlap, Error> {
    Overlap::from_u8(number).ok_or_else(|| Error::Corrupt(format!("overlap policy {number}")))
}

fn outcome(number: i64) -> Result<TriggerOutcome, Error> {
    u8::try_from(number)
        .ok()
        .and_then(TriggerOutcome::from_u8)
        .ok_or_else(|| Error::Corrupt(format!("outcome {number}")))
}

/// The schedule of this name from its fields.
pub(crate) fn plan(name: &str, fields: &Value) -> Result<Plan, Error> {
    let mut f = Fields::of(fields)?;
    Ok(Plan {
        name: name.to_owned(),
        incarnation: f.int()?,
        version: f.int()?,
        cursor: f.int()?,
        next: f.int()?,
        due: f.int()?,
        overlap: overlap(f.int()?)?,
        queue_max: f.int()?,
        max_fires: f.int()?,
        fires: f.int()?,
        created_at: f.int()?,
        changed_at: f.int()?,
        pause: pause(&mut f)?,
        last: last(&mut f)?,
        last_fired: last_fired(&mut f)?,
        decision: f.bytes()?.to_vec().into(),
        decisions: f.int()?,
    })
}

fn pause(f: &mut Fields) -> Result<Option<Pause>, Error> {
    let pause = Pause {
        by: f.text()?,
        reason: f.text()?,
        since: f.int()?,
        until: f.int()?,
    };
    Ok((pause.since > 0).then_some(pause))
}

fn last(f: &mut Fields) -> Result<Option<LastTrigger>, Error> {
    let (planned_at, at, number, reason) = (f.int()?, f.int()?, f.int::<i64>()?, f.text()?);
    if number == 0 {
        return Ok(None);
    }
    Ok(Some(LastTrigger {
        planned_at,
        at,
        outcome: outcome(number)?,
        reason,
    }))
}

fn last_fired(f: &mut Fields) -> Result<Option<LastFired>, Error> {
    let (planned_at, at, task) = (f.int()?, f.int()?, f.id()?);
    Ok(task.map(|task| LastFired { planned_at, at, task }))
}

/// The live tasks of a schedule; none where nothing is kept.
pub(crate) fn live(packed: &[u8]) -> Result<Vec<LiveTask>, Error> {
    if packed.is_empty() {
        return Ok(Vec::new());
    }
    let entry = |entry: &Value| {
        Ok(LiveTask {
            id: id_of(entry.at(0)?.bytes()?)?,
            blocked: entry.at(1)?.int()? == 1,
        })
    };
    unpack(packed)?.list()?.iter().map(entry).collect()
}

/// A record as the ledger keeps it.
pub(crate) fn trigger(packed: &[u8]) -> Result<Trigger, Error> {
    let record = unpack(packed)?;
    let mut f = Fields::of(&record)?;
    let planned_at: Millis = f.int()?;
    let mut trigger = Trigger {
        planned_at,
        at: f.int()?,
        incarnation: f.int()?,
        outcome: outcome(f.int()?)?,
        manual: f.int::<i64>()? != 0,
        reason: f.text()?,
        task: f.id()?,
        to: planned_at,
        count: 1,
    };
    if record.list()?.len() > 7 {
        (trigger.to, trigger.count) = (f.int()?, f.int()?);
    }
    Ok(trigger)
}

/// A record as a script takes it; a fire has its submission at the end.
pub(crate) fn sent(record: &NewTrigger, actor: &str) -> Vec<u8> {
    let packed = Packer::new()
        .int(record.planned_at)
        .int(record.to)
        .int(record.count.into())
        .int(record.outcome as i64)
        .text(&record.reason)
        .int(record.manual.into());
    match &record.task {
        Some(task) => packed.packed(&submit::item(task, actor)).end(),
        None => packed.end(),
    }
}

/// What a script says of a record.
pub(crate) fn triggered(value: &Value) -> Result<Triggered, Error> {
    let mut f = Fields::of(value)?;
    Ok(Triggered {
        planned_at: f.int()?,
        outcome: outcome(f.int()?)?,
        reason: f.text()?,
        task: f.id()?,
        hint: submit::hint(f.int()?),
        blocked: f.int::<i64>()? != 0,
        fresh: f.int::<i64>()? != 0,
    })
}
