//! fire and record_triggers: instants become records, and fires become tasks, in one step (I7).

use domain::{Millis, TriggerOutcome};

use super::super::admit::Idle;
use super::super::shard::Shard;
use super::live::Turn;
use super::{plan_decision, plan_next};
use crate::{
    Admitted, Error, Fired, Firing, Hint, LastFired, LastTrigger, NewTask, NewTrigger, Origin, Plan,
};
use crate::{PlanRefusal, Trigger, Triggered};

impl Shard {
    pub(super) fn fire(
        &mut self,
        origin: &Origin,
        firings: &[Firing],
    ) -> Result<Vec<Result<Fired, PlanRefusal>>, Error> {
        self.refuse_full()?;
        let mut idle = Idle::new();
        Ok(firings
            .iter()
            .map(|firing| self.fire_one(origin, firing, &mut idle))
            .collect())
    }

    fn fire_one(&mut self, origin: &Origin, firing: &Firing, idle: &mut Idle) -> Result<Fired, PlanRefusal> {
        let mut plan = self.may_fire(firing)?;
        let mut records = Vec::with_capacity(firing.records.len());
        for record in &firing.records {
            records.push(self.fire_record(origin, &mut plan, record, idle));
        }
        plan.cursor = firing.cursor;
        plan_decision(&mut plan, &firing.decision);
        plan_next(&mut plan, firing.next, firing.due);
        self.keep_plan(&plan);
        Ok(Fired { plan, records })
    }

    fn may_fire(&self, firing: &Firing) -> Result<Plan, PlanRefusal> {
        let plan = &self.plans.get(&firing.name).ok_or(PlanRefusal::Missing)?.plan;
        if plan.incarnation != firing.seen.incarnation {
            return Err(PlanRefusal::Missing);
        }
        if plan.seen() != firing.seen {
            return Err(PlanRefusal::Moved);
        }
        let decides =
            firing.cursor == plan.cursor && firing.records.is_empty() && firing.decision != plan.decision;
        if plan.is_paused() && !decides {
            return Err(PlanRefusal::Paused);
        }
        if plan.is_used_up() {
            return Err(PlanRefusal::Finished);
        }
        if firing.cursor > self.now {
            return Err(PlanRefusal::NotDue);
        }
        Ok(plan.clone())
    }

    fn fire_record(
        &mut self,
        origin: &Origin,
        plan: &mut Plan,
        record: &NewTrigger,
        idle: &mut Idle,
    ) -> Triggered {
        if plan.is_used_up() {
            return Triggered {
                outcome: TriggerOutcome::Skipped,
                reason: "finished".into(),
                ..said(record)
            };
        }
        let Some(task) = &record.task else {
            return self.write(plan, record, None);
        };
        let turn = match self.known(task) {
            None => self.turn(origin, plan),
            Some(_) => Turn::Now,
        };
        if let Turn::Skip(why) = turn {
            let skipped = NewTrigger {
                outcome: TriggerOutcome::Skipped,
                reason: why.into(),
                task: None,
                ..record.clone()
            };
            return self.write(plan, &skipped, None);
        }
        plan.fires += 1;
        let made = self.make(origin, plan, task, turn, idle);
        self.write(plan, record, Some(made))
    }

    pub(super) fn record_triggers(
        &mut self,
        origin: &Origin,
        name: &str,
        incarnation: u64,
        records: &[NewTrigger],
    ) -> Result<Vec<Result<Triggered, PlanRefusal>>, Error> {
        self.refuse_full()?;
        let mut idle = Idle::new();
        let known = self.plans.get(name).map(|known| known.plan.clone());
        let Some(mut plan) = known.filter(|plan| plan.incarnation == incarnation) else {
            return Ok(records.iter().map(|_| Err(PlanRefusal::Missing)).collect());
        };
        let mut done = Vec::with_capacity(records.len());
        for record in records {
            done.push(self.record_by_hand(origin, &mut plan, record, &mut idle));
        }
        self.keep_plan(&plan);
        Ok(done)
    }

    fn record_by_hand(
        &mut self,
        origin: &Origin,
        plan: &mut Plan,
        record: &NewTrigger,
        idle: &mut Idle,
    ) -> Result<Triggered, PlanRefusal> {
        let record = at_latest(record, self.now);
        let limit = if record.manual { self.now } else { plan.cursor };
        if record.planned_at > limit {
            return Err(PlanRefusal::NotDue);
        }
        if let Some(kept) = self.fired_before(plan, &record) {
            return Ok(kept);
        }
        let Some(task) = &record.task else {
            return Err(PlanRefusal::NotDue);
        };
        let turn = match self.known(task) {
            None => self.turn_by_hand(plan).ok_or(PlanRefusal::Full)?,
            Some(_) => Turn::Now,
        };
        let made = self.make(origin, plan, task, turn, idle);
        if !record.manual {
            self.ledger(&plan.name)
                .give_up(plan.incarnation, record.planned_at);
        }
        Ok(self.write(plan, &record, Some(made)))
    }

    /// The answer where the instant, or the task of a trigger by hand, has a fire already.
    fn fired_before(&mut self, plan: &Plan, record: &NewTrigger) -> Option<Triggered> {
        if record.manual {
            let Some(Admitted::Existing { id, .. } | Admitted::Conflict { id }) =
                record.task.as_ref().and_then(|task| self.known(task))
            else {
                return None;
            };
            let living = self.records.get(&id);
            return Some(Triggered {
                planned_at: living.map_or(record.planned_at, |living| living.task.planned_at),
                task: Some(id),
                ..said(record)
            });
        }
        let kept = self
            .ledger(&plan.name)
            .own(plan.incarnation, record.planned_at)
            .filter(|kept| kept.outcome == TriggerOutcome::Fired)?;
        Some(Triggered {
            planned_at: kept.planned_at,
            outcome: kept.outcome,
            reason: kept.reason,
            task: kept.task,
            ..said(record)
        })
    }

    /// The task of a fire: a new one, or the one that has its key.
    fn make(
        &mut self,
        origin: &Origin,
        plan: &Plan,
        task: &NewTask,
        turn: Turn,
        idle: &mut Idle,
    ) -> (domain::TaskId, Hint, bool) {
        match self.known(task) {
            Some(Admitted::Existing { id, .. } | Admitted::Conflict { id }) => (id, Hint::None, false),
            Some(Admitted::Created { .. }) | None => {
                let hint = self.create_at(origin, task, idle, turn == Turn::Blocked);
                let lives = self
                    .records
                    .get(&task.id)
                    .is_some_and(|record| !record.task.status.is_terminal());
                if lives {
                    self.join_live(plan, task.id);
                }
                (task.id, hint, lives && turn == Turn::Blocked)
            }
        }
    }

    /// Writes a record, and what the plan shows of it.
    pub(super) fn write(
        &mut self,
        plan: &mut Plan,
        record: &NewTrigger,
        made: Option<(domain::TaskId, Hint, bool)>,
    ) -> Triggered {
        let (now, task) = (self.now, made.map(|(id, ..)| id));
        self.ledger(&plan.name).add(Trigger {
            incarnation: plan.incarnation,
            planned_at: record.planned_at,
            to: record.to,
            count: record.count,
            outcome: record.outcome,
            reason: record.reason.clone(),
            at: now,
            task,
            manual: record.manual,
        });
        if plan.last.as_ref().is_none_or(|last| last.planned_at <= record.to) {
            plan.last = Some(LastTrigger {
                planned_at: record.to,
                at: now,
                outcome: record.outcome,
                reason: record.reason.clone(),
            });
        }
        let is_latest = plan
            .last_fired
            .is_none_or(|last| last.planned_at <= record.planned_at);
        if let Some(task) = task.filter(|_| is_latest) {
            plan.last_fired = Some(LastFired {
                planned_at: record.planned_at,
                at: now,
                task,
            });
        }
        Triggered {
            task,
            hint: made.map_or(Hint::None, |(_, hint, _)| hint),
            blocked: made.is_some_and(|(.., blocked)| blocked),
            fresh: true,
            ..said(record)
        }
    }

    fn keep_plan(&mut self, plan: &Plan) {
        if let Some(known) = self.plans.get_mut(&plan.name) {
            known.plan = plan.clone();
        }
    }
}

/// A trigger by hand that names no instant is of now.
fn at_latest(record: &NewTrigger, now: Millis) -> NewTrigger {
    let mut record = record.clone();
    if record.planned_at == 0 {
        (record.planned_at, record.to) = (now, now);
        if let Some(task) = &mut record.task {
            task.planned_at = now;
        }
    }
    record
}

fn said(record: &NewTrigger) -> Triggered {
    Triggered {
        planned_at: record.planned_at,
        outcome: record.outcome,
        reason: record.reason.clone(),
        task: None,
        hint: Hint::None,
        blocked: false,
        fresh: false,
    }
}
