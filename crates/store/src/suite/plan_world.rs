//! The verbs of the plan table as the cases speak them. Every verb is played twice (I12).

use domain::{Millis, Overlap, TaskId, TriggerOutcome, schedule_partition};

use super::new_task::plain;
use super::world::{World, origin, twice};
use crate::{
    Fired, Firing, NewTask, NewTrigger, Page, Plan, PlanRefusal, PlanVerdict, Put, PutSchedule, Removed,
    Reply, ScheduleView, Trigger, TriggerRange, Triggered,
};

/// Between the planned instants of every schedule of the cases.
pub(super) const MINUTE: Millis = 60_000;

impl World<'_> {
    /// A name of the partition under test, after those with a smaller number.
    pub(super) fn name(&self, number: u8) -> String {
        let partitions = self.store.partitions();
        (0..)
            .map(|tail| format!("nightly-{number}-{tail}"))
            .find(|name| schedule_partition(name, partitions) == self.partition)
            .unwrap()
    }

    /// A schedule that nobody has seen yet, whose first instant is a minute from now.
    pub(super) async fn draft(&self, number: u8, overlap: Overlap) -> PutSchedule {
        let now = self.now().await;
        PutSchedule {
            name: self.name(number),
            spec: "every minute".into(),
            overlap,
            queue_max: 1,
            max_fires: 0,
            seen: None,
            anchor: now,
            next: now + MINUTE,
            due: now + MINUTE,
            owed: Vec::new(),
        }
    }

    pub(super) async fn put(&self, item: &PutSchedule) -> Result<Put, PlanRefusal> {
        twice!(self, put_schedules(&origin(), std::slice::from_ref(item))).remove(0)
    }

    /// A new schedule, an instant of which is due each minute from now.
    pub(super) async fn schedule(&self, overlap: Overlap) -> Plan {
        let draft = self.draft(1, overlap).await;
        self.put(&draft).await.unwrap().plan
    }

    pub(super) async fn look_at(&self, name: &str) -> Option<ScheduleView> {
        self.store.schedule(name).await.unwrap()
    }

    pub(super) async fn plan(&self, name: &str) -> Plan {
        self.look_at(name).await.unwrap().plan
    }

    /// Which tasks of a schedule live, and which of them are blocked.
    pub(super) async fn live(&self, name: &str) -> Vec<(TaskId, bool)> {
        let live = self.look_at(name).await.unwrap().live;
        live.iter().map(|task| (task.id, task.blocked)).collect()
    }

    pub(super) async fn pause(&self, name: &str) -> PlanVerdict {
        twice!(self, pause_schedules(&origin(), &[name.to_owned()])).remove(0)
    }

    pub(super) async fn resume(&self, name: &str) -> PlanVerdict {
        twice!(self, resume_schedules(&[name.to_owned()])).remove(0)
    }

    pub(super) async fn remove(&self, name: &str) -> PlanVerdict {
        twice!(self, remove_schedules(&[name.to_owned()])).remove(0)
    }

    /// The names that are due.
    pub(super) async fn due(&self) -> Vec<String> {
        let due = self.store.due_schedules(self.partition, 64).await.unwrap();
        due.items.into_iter().map(|view| view.plan.name).collect()
    }

    pub(super) async fn fire_all(&self, firings: &[Firing]) -> Reply<Result<Fired, PlanRefusal>> {
        twice!(self, fire(&origin(), firings))
    }

    pub(super) async fn fire(&self, firing: &Firing) -> Result<Fired, PlanRefusal> {
        self.fire_all(std::slice::from_ref(firing)).await.items.remove(0)
    }

    /// The task of one planned instant.
    pub(super) fn planned_task(&self, plan: &Plan, planned_at: Millis) -> NewTask {
        NewTask {
            schedule_id: plan.name.clone(),
            planned_at,
            idempotency_key: format!("{}/{}@{planned_at}", plan.name, plan.incarnation),
            ..plain(self.id())
        }
    }

    pub(super) fn fired_at(&self, plan: &Plan, planned_at: Millis) -> NewTrigger {
        NewTrigger {
            planned_at,
            to: planned_at,
            count: 1,
            outcome: TriggerOutcome::Fired,
            reason: String::new(),
            task: Some(self.planned_task(plan, planned_at)),
            manual: false,
        }
    }

    /// Moves the cursor to the next instant and fires it.
    pub(super) fn next_fire(&self, plan: &Plan) -> Firing {
        Firing {
            records: vec![self.fired_at(plan, plan.next)],
            ..step_over(plan)
        }
    }

    /// Lets the next instant of a schedule come, and fires it.
    pub(super) async fn fire_next(&self, name: &str) -> Triggered {
        let plan = self.plan(name).await;
        let wait = plan.due - self.now().await;
        self.pass(wait.max(0)).await;
        let firing = self.next_fire(&plan);
        self.fire(&firing).await.unwrap().records.remove(0)
    }

    pub(super) async fn by_hand(
        &self,
        plan: &Plan,
        records: &[NewTrigger],
    ) -> Vec<Result<Triggered, PlanRefusal>> {
        let (name, incarnation) = (plan.name.as_str(), plan.incarnation);
        twice!(self, record_triggers(&origin(), name, incarnation, records)).items
    }

    /// A trigger by hand, with a key of its own.
    pub(super) fn manual(&self, plan: &Plan, key: &str) -> NewTrigger {
        let task = NewTask {
            idempotency_key: format!("{}/{}@{key}", plan.name, plan.incarnation),
            ..self.planned_task(plan, 0)
        };
        NewTrigger {
            reason: "manual".into(),
            manual: true,
            task: Some(task),
            ..self.fired_at(plan, 0)
        }
    }

    /// All records of a name, oldest first.
    pub(super) async fn records(&self, name: &str) -> Vec<Trigger> {
        let mut page = Page {
            limit: 1_000,
            cursor: None,
        };
        let mut records = Vec::new();
        loop {
            let range = TriggerRange::default();
            let part = self.store.triggers(name, &range, &page).await.unwrap();
            records.extend(part.items);
            let Some(next) = part.next else { return records };
            page.cursor = Some(next);
        }
    }

    /// The records of a name in short: (minutes since `start`, outcome, reason).
    pub(super) async fn history(&self, name: &str, start: Millis) -> Vec<(i64, TriggerOutcome, String)> {
        let records = self.records(name).await;
        let short = |kept: Trigger| ((kept.planned_at - start) / MINUTE, kept.outcome, kept.reason);
        records.into_iter().map(short).collect()
    }

    pub(super) async fn retain_records(&self, age_ms: i64) -> Removed {
        twice!(self, retain_triggers(age_ms))
    }
}

/// Moves the cursor to the next instant and writes nothing of it.
pub(super) fn step_over(plan: &Plan) -> Firing {
    Firing {
        name: plan.name.clone(),
        seen: plan.seen(),
        overlap: plan.overlap,
        cursor: plan.next,
        next: plan.next + MINUTE,
        due: plan.next + MINUTE,
        decision: plan.decision.clone(),
        records: Vec::new(),
    }
}

/// A record without a task, of `count` instants from `planned_at`.
pub(super) fn passed_over(
    planned_at: Millis,
    count: u32,
    outcome: TriggerOutcome,
    reason: &str,
) -> NewTrigger {
    NewTrigger {
        planned_at,
        to: planned_at + MINUTE * (i64::from(count) - 1),
        count,
        outcome,
        reason: reason.into(),
        task: None,
        manual: false,
    }
}
