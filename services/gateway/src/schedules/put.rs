//! Writes schedules into the plan table: anchored at the store's clock, with what the old definition still owed.

use std::collections::HashMap;

use domain::Millis;
use futures::future::try_join_all;
use plan::{Pause, Plan, Reason, Record, Standing};
use store::{Firing, NewTrigger, Origin, PlanRefusal, PutSchedule, ScheduleView};

use crate::{
    gate::{Actor, Gate},
    play::play,
    refusal::Refusal,
    schedules::{calendars::Calendars, declare::Declared, show::plan_of},
};

/// Reads of one request that run side by side.
const READS_AT_ONCE: usize = 32;
/// How often a schedule that moves in between is read again.
const ROUNDS: usize = 8;

impl Gate {
    /// What stands of some names.
    pub(crate) async fn standing(
        &self,
        names: &[String],
    ) -> Result<HashMap<String, ScheduleView>, store::Error> {
        let mut standing = HashMap::with_capacity(names.len());
        for part in names.chunks(READS_AT_ONCE) {
            let views = try_join_all(part.iter().map(|name| self.store.schedule(name))).await?;
            let views = views.into_iter().flatten();
            standing.extend(views.map(|view| (view.plan.name.clone(), view)));
        }
        Ok(standing)
    }

    /// Creates or changes schedules. `old` are the calendars by which the old definitions planned.
    pub(crate) async fn put_schedules(
        &self,
        origin: &Origin,
        declared: &[&Declared],
        old: &Calendars,
    ) -> Result<(), Refusal> {
        let mut left = declared.to_vec();
        for _ in 0..ROUNDS {
            if left.is_empty() {
                return Ok(());
            }
            let names: Vec<_> = left.iter().map(|one| one.plan.schedule().name.clone()).collect();
            let standing = self.standing(&names).await?;
            let now = self.store.ping().await?;
            let mut calls = Vec::new();
            for (partition, call) in self.by_partition(left, |one| &one.plan.schedule().name) {
                // What an old definition still owes is bounded by the call, so that one that owes goes alone.
                let (owing, plain): (Vec<_>, Vec<_>) = call
                    .into_iter()
                    .map(|one| (one, item(one, &standing, old, now)))
                    .partition(|(_, item)| !item.owed.is_empty());
                calls.push((partition, plain));
                calls.extend(owing.into_iter().map(|one| (partition, vec![one])));
            }
            let mut moved = Vec::new();
            for (partition, call) in calls.into_iter().filter(|(_, call)| !call.is_empty()) {
                let (sources, items): (Vec<_>, Vec<_>) = call.into_iter().unzip();
                let done = play(|nonce| self.store.put_schedules(partition, nonce, origin, &items)).await?;
                let refused = sources.into_iter().zip(done).filter(|(_, done)| done.is_err());
                moved.extend(refused.map(|(one, _)| one));
            }
            left = moved;
        }
        match left.first() {
            None => Ok(()),
            Some(one) => Err(Refusal::conflict(
                &format!("schedules ({})", one.plan.schedule().name),
                "changes all the time",
                "apply again",
            )),
        }
    }

    /// Pauses and resumes what a definition says so of.
    pub(crate) async fn switch_as_declared(
        &self,
        origin: &Origin,
        declared: &[&Declared],
    ) -> Result<(), Refusal> {
        for paused in [true, false] {
            let asked = declared
                .iter()
                .map(|one| one.plan.schedule())
                .filter(|schedule| schedule.paused == Some(paused));
            let names: Vec<_> = asked.map(|schedule| schedule.name.clone()).collect();
            self.switch_schedules(origin, &names, paused).await?;
        }
        Ok(())
    }

    /// Pauses or resumes schedules; one that is gone is left out.
    pub(crate) async fn switch_schedules(
        &self,
        origin: &Origin,
        names: &[String],
        paused: bool,
    ) -> Result<Vec<store::Plan>, Refusal> {
        let mut plans = Vec::new();
        for (partition, names) in self.by_partition(names.to_vec(), String::as_str) {
            let done = match paused {
                true => play(|nonce| self.store.pause_schedules(partition, nonce, origin, &names)).await?,
                false => play(|nonce| self.store.resume_schedules(partition, nonce, &names)).await?,
            };
            for plan in done.into_iter().flatten() {
                tracing::info!(
                    schedule = plan.name,
                    paused,
                    actor = origin.actor,
                    reason = origin.reason,
                    "schedule switched"
                );
                plans.push(plan);
            }
        }
        Ok(plans)
    }

    /// Works out anew what comes next, after its calendar changed. One that is paused is left until it is resumed.
    pub(crate) async fn replan(
        &self,
        actor: &Actor,
        name: &str,
        calendars: &Calendars,
    ) -> Result<(), Refusal> {
        for _ in 0..ROUNDS {
            let Some(view) = self.store.schedule(name).await? else {
                return Ok(());
            };
            let Ok(plan) = plan_of(&view, calendars) else {
                return Ok(());
            };
            let next = next(&plan, view.plan.cursor);
            if view.plan.is_paused() || view.plan.is_used_up() || next == (view.plan.next, view.plan.due) {
                return Ok(());
            }
            let firing = Firing {
                next: next.0,
                due: next.1,
                ..Firing::untouched(&view.plan)
            };
            let origin = self.origin(actor.clone(), "calendar".to_owned());
            if self.fire(&origin, firing).await? != Err(PlanRefusal::Moved) {
                return Ok(());
            }
        }
        Ok(())
    }
}

fn item(
    declared: &Declared,
    standing: &HashMap<String, ScheduleView>,
    old: &Calendars,
    now: Millis,
) -> PutSchedule {
    let schedule = declared.plan.schedule();
    let known = standing.get(&schedule.name);
    let changed = known.filter(|known| known.spec != declared.spec);
    let owed = changed.and_then(|known| Some(owed(&plan_of(known, old).ok()?, &known.plan, now)));
    let (next, due) = next(&declared.plan, now);
    PutSchedule {
        name: schedule.name.clone(),
        spec: declared.spec.clone(),
        overlap: schedule.overlap,
        queue_max: schedule.queue_max,
        max_fires: schedule.max_fires.unwrap_or(0),
        seen: known.map(|known| known.plan.seen()),
        anchor: now,
        next,
        due,
        owed: owed.unwrap_or_default(),
    }
}

/// The planned instant after a cursor and when it is due; 0: none.
pub(crate) fn next(plan: &Plan, cursor: Millis) -> (Millis, Millis) {
    plan.next_after(cursor)
        .map_or((0, 0), |next| (next.planned_at, next.due))
}

/// What becomes of the instants up to now of a definition that goes.
fn owed(plan: &Plan, known: &store::Plan, now: Millis) -> Vec<NewTrigger> {
    let mut owed: Vec<NewTrigger> = Vec::new();
    for record in passed(plan, known, now, Reason::Changed) {
        let record = admission::trigger(&record, None);
        match owed.last_mut() {
            Some(last) if (last.outcome, &last.reason) == (record.outcome, &record.reason) => {
                last.count = last.count.saturating_add(record.count);
                last.to = record.to;
            }
            _ => owed.push(record),
        }
    }
    owed
}

/// The records of what is planned up to now and fires no more, for a reason, or because it was in a pause.
pub(crate) fn passed(plan: &Plan, known: &store::Plan, now: Millis, reason: Reason) -> Vec<Record> {
    let pause = known.pause.as_ref().map(|pause| Pause {
        since: pause.since,
        until: if pause.until == 0 { now + 1 } else { pause.until },
    });
    let mut standing = Standing {
        fires: known.fires,
        pause,
        ..Standing::at(known.cursor)
    };
    let mut records = Vec::new();
    // A slice walks 4,096 instants; of a year of seconds this would be a while, so what is beyond is left out.
    for _ in 0..SLICES {
        let slice = plan.pass(&standing, now, reason);
        standing = slice.standing;
        records.extend(slice.records);
        if !slice.more {
            break;
        }
    }
    records
}

/// Slices that are walked along at most: some four million instants.
const SLICES: usize = 1_000;
