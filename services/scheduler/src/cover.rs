//! After a change of calendars, and once an hour: which schedules run into a year that their calendar does not cover,
//! and which of them come sooner than the plan table thinks.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use domain::{Millis, Partition};
use store::{Firing, ScheduleView, playing::nonce};
use tokio::time::Instant;

use crate::{
    Town,
    beat::{Duty, Next},
    calendars::Table,
    call::in_time,
    error::Error,
    notify::{Notice, shown},
    plans::definition,
};

/// How often the version of the calendars is looked at.
const EVERY: Duration = Duration::from_secs(1);
/// All schedules are gone through as often at least.
const ROUND: Duration = Duration::from_secs(3_600);
/// Schedules of one step.
const PAGE: usize = 64;
/// How long before its first uncovered instant a schedule is told of: sixty days.
const AHEAD_MS: Millis = 60 * 86_400_000;
/// Alerts that are remembered as told.
const TOLD_MAX: usize = 10_000;

/// The duty in all partitions.
pub(crate) struct Cover {
    partitions: u16,
    /// With which calendars each partition was gone through, and when.
    passed: BTreeMap<Partition, (u64, Instant)>,
    /// The partition that is gone through, and where that stands.
    at: Option<(Partition, String)>,
    told: BTreeSet<(String, u64, i32)>,
}

impl Cover {
    pub(crate) const fn new(partitions: u16) -> Self {
        Self {
            partitions,
            passed: BTreeMap::new(),
            at: None,
            told: BTreeSet::new(),
        }
    }

    /// A partition that has to be gone through.
    fn stale(&self, town: &Town, version: u64) -> Option<Partition> {
        let fresh = |partition: &Partition| {
            let passed = self.passed.get(partition);
            passed.is_some_and(|(with, at)| *with == version && at.elapsed() < ROUND)
        };
        (0..self.partitions).find(|partition| town.turns.has(*partition) && !fresh(partition))
    }

    async fn look(
        &mut self,
        town: &Town,
        view: &ScheduleView,
        calendars: &Arc<Table>,
        now: Millis,
    ) -> Result<(), Error> {
        // Most schedules have no calendar; they need not be read.
        if !view.spec.windows(10).any(|part| part == b"\"calendar\"") || view.plan.is_paused() {
            return Ok(());
        }
        // One that can't be read is told of when it is due.
        let plan = definition(&view.spec).and_then(|schedule| {
            let plan = schedule.plan(|name| calendars.get(name));
            plan.map_err(|problem| problem.to_string())
        });
        let Ok(plan) = plan else { return Ok(()) };
        if let Some(next) = plan.next_after(view.plan.cursor)
            && next.due < view.plan.due
            && !view.plan.is_used_up()
        {
            let sooner = Firing {
                next: next.planned_at,
                due: next.due,
                ..Firing::untouched(&view.plan)
            };
            let partition = domain::schedule_partition(&view.plan.name, self.partitions);
            let play = town
                .parts
                .store
                .fire(partition, nonce(), &town.origin, std::slice::from_ref(&sooner));
            town.parts.announcer.announce(in_time(play).await?.outbox);
        }
        self.alert(town, view, &plan, now);
        Ok(())
    }

    fn alert(&mut self, town: &Town, view: &ScheduleView, plan: &plan::Plan, now: Millis) {
        let Some(fire) = plan.first_uncovered_after(view.plan.cursor.max(now)) else {
            return;
        };
        let (at, year) = (fire.at.as_millisecond(), fire.marks.uncovered_year.unwrap_or(0));
        let key = (view.plan.name.clone(), view.plan.incarnation, year);
        if at - now > AHEAD_MS || !self.told.insert(key) {
            return;
        }
        if self.told.len() > TOLD_MAX {
            self.told.pop_first();
        }
        town.parts.metrics.uncovered_calendar();
        let calendar = plan.schedule().when.calendar.as_deref().unwrap_or_default();
        town.notices.tell(Notice {
            kind: "uncovered_calendar",
            schedule: view.plan.name.clone(),
            planned_at: shown(at),
            count: 1,
            text: format!(
                "calendar {calendar} does not cover {year}: only weekends are off then; apply it with the days of that year"
            ),
        });
    }
}

impl Duty for Cover {
    const NAME: &'static str = "cover";

    fn every(&self, _: &Town) -> Duration {
        EVERY
    }

    async fn step(&mut self, town: &Town) -> Result<Next, Error> {
        let store = &town.parts.store;
        let calendars = town.calendars.refresh(store.as_ref()).await?;
        let Some(partition) = self.stale(town, calendars.version) else {
            return Ok(Next::Later);
        };
        let now = in_time(store.due_schedules(partition, 0)).await?.now;
        let after = self
            .at
            .take()
            .filter(|(at, _)| *at == partition)
            .map(|(_, after)| after);
        let page = in_time(store.schedules(partition, after.as_deref(), PAGE)).await?;
        for view in &page {
            self.look(town, view, &calendars, now).await?;
        }
        self.at = page.last().map(|view| (partition, view.plan.name.clone()));
        if page.len() < PAGE {
            self.at = None;
            self.passed.insert(partition, (calendars.version, Instant::now()));
        }
        Ok(Next::Now)
    }
}
