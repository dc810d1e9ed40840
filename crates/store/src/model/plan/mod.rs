//! The plan table: put, remove, pause, resume, and what is due.

mod fire;
mod ledger;
mod live;
mod plan_impl;

use bytes::Bytes;
use domain::Millis;

pub(super) use ledger::Ledger;

use super::shard::Shard;
use crate::{
    CLOCK_TOLERANCE_MS, DueSchedules, LiveTask, Origin, Pause, Plan, PlanRefusal, PlanVerdict, Put, PutHow,
    PutSchedule, ScheduleView,
};

/// A schedule.
#[derive(Debug, Clone)]
pub(super) struct Schedule {
    pub(super) plan: Plan,
    pub(super) spec: Bytes,
}

impl Shard {
    fn put_schedules(&mut self, items: &[PutSchedule]) -> Vec<Result<Put, PlanRefusal>> {
        items.iter().map(|item| self.put_schedule(item)).collect()
    }

    fn put_schedule(&mut self, item: &PutSchedule) -> Result<Put, PlanRefusal> {
        let known = self.plans.get(&item.name);
        if let Some(known) = known.filter(|known| is_same(known, item)) {
            let plan = known.plan.clone();
            let how = PutHow::Unchanged;
            return Ok(Put { how, plan });
        }
        match (known, item.seen) {
            (None, Some(_)) => return Err(PlanRefusal::Missing),
            (Some(known), seen) if seen != Some(known.plan.seen()) => return Err(PlanRefusal::Moved),
            (Some(known), _) if known.plan.cursor > item.anchor => return Err(PlanRefusal::Moved),
            (None | Some(_), _) => {}
        }
        if (item.anchor - self.now).abs() > CLOCK_TOLERANCE_MS {
            return Err(PlanRefusal::Clock);
        }
        let (how, mut plan) = match known {
            Some(known) => (PutHow::Changed, known.plan.clone()),
            None => (PutHow::Created, self.new_plan(&item.name)),
        };
        if how == PutHow::Changed {
            for record in &item.owed {
                self.write(&mut plan, record, None);
            }
        }
        plan.version += 1;
        plan.cursor = item.anchor;
        plan.overlap = item.overlap;
        plan.queue_max = item.queue_max;
        plan.max_fires = item.max_fires;
        plan.changed_at = self.now;
        plan_decision(&mut plan, &Bytes::new());
        plan_next(&mut plan, item.next, item.due);
        let spec = item.spec.clone();
        let kept = plan.clone();
        self.plans.insert(item.name.clone(), Schedule { plan, spec });
        Ok(Put { how, plan: kept })
    }

    fn new_plan(&mut self, name: &str) -> Plan {
        let micros = u64::try_from(self.now).unwrap_or(0) * 1_000;
        self.last_token = micros.max(self.last_token + 1);
        Plan {
            name: name.to_owned(),
            incarnation: self.last_token,
            version: 0,
            cursor: 0,
            next: 0,
            due: 0,
            overlap: domain::Overlap::Allow,
            queue_max: 0,
            max_fires: 0,
            fires: 0,
            decision: Bytes::new(),
            decisions: 0,
            created_at: self.now,
            changed_at: self.now,
            pause: None,
            last: None,
            last_fired: None,
        }
    }

    fn remove_schedules(&mut self, names: &[String]) -> Vec<PlanVerdict> {
        let remove = |name: &String| {
            let removed = self.plans.remove(name).ok_or(PlanRefusal::Missing)?;
            Ok(removed.plan)
        };
        names.iter().map(remove).collect()
    }

    fn pause_schedules(&mut self, origin: &Origin, names: &[String]) -> Vec<PlanVerdict> {
        let now = self.now;
        let pause = |plan: &mut Plan| {
            if plan.is_paused() {
                return;
            }
            let unsettled = plan.pause.as_ref().filter(|pause| plan.cursor < pause.until);
            let since = unsettled.map_or(now, |pause| pause.since);
            plan.pause = Some(Pause {
                by: origin.actor.clone(),
                reason: origin.reason.clone(),
                since,
                until: 0,
            });
        };
        names.iter().map(|name| self.change(name, pause)).collect()
    }

    fn resume_schedules(&mut self, names: &[String]) -> Vec<PlanVerdict> {
        let now = self.now;
        let resume = |plan: &mut Plan| {
            if let Some(pause) = plan.pause.as_mut().filter(|pause| pause.until == 0) {
                pause.until = now;
            }
        };
        names.iter().map(|name| self.change(name, resume)).collect()
    }

    fn change(&mut self, name: &str, how: impl Fn(&mut Plan)) -> PlanVerdict {
        let known = self.plans.get_mut(name).ok_or(PlanRefusal::Missing)?;
        how(&mut known.plan);
        Ok(known.plan.clone())
    }

    fn due_schedules(&self, clock: Millis, limit: usize) -> DueSchedules {
        let now = clock.max(self.now);
        let is_due =
            |known: &&Schedule| known.plan.next > 0 && known.plan.due <= now && !known.plan.is_paused();
        let mut due: Vec<_> = self.plans.values().filter(is_due).collect();
        due.sort_by_key(|known| (known.plan.due, &known.plan.name));
        due.truncate(limit);
        let items = due.into_iter().map(|known| self.schedule_view(known)).collect();
        DueSchedules { now, items }
    }

    fn schedule_view(&self, known: &Schedule) -> ScheduleView {
        let live = self.lives.get(&known.plan.name).into_iter().flatten();
        ScheduleView {
            plan: known.plan.clone(),
            spec: known.spec.clone(),
            live: live
                .map(|id| LiveTask {
                    id: *id,
                    blocked: self.is_blocked(*id),
                })
                .collect(),
        }
    }

    fn schedules_after(&self, after: Option<&str>, limit: usize) -> Vec<ScheduleView> {
        self.plans
            .iter()
            .filter(|(name, _)| after.is_none_or(|after| name.as_str() > after))
            .take(limit)
            .map(|(_, known)| self.schedule_view(known))
            .collect()
    }
}

fn is_same(known: &Schedule, item: &PutSchedule) -> bool {
    let plan = &known.plan;
    known.spec == item.spec
        && (plan.overlap, plan.queue_max, plan.max_fires) == (item.overlap, item.queue_max, item.max_fires)
}

fn plan_decision(plan: &mut Plan, decision: &Bytes) {
    if plan.decision != *decision {
        plan.decision = decision.clone();
        plan.decisions += 1;
    }
}

/// A schedule that is used up has no next instant.
fn plan_next(plan: &mut Plan, next: Millis, due: Millis) {
    (plan.next, plan.due) = if plan.is_used_up() || next == 0 {
        (0, 0)
    } else {
        (next, due)
    };
}
