//! The watchdog: finds planned instants without a record (I7).
//!
//! It trusts nothing that the scan goes by, neither the index of what is due nor the cursors: it lists the schedules by
//! name, asks the calendar for their instants, and looks for the record of each once a grace is over.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use domain::Millis;
use store::ScheduleView;

use crate::{
    Town,
    absence_look::{Finding, look},
    beat::{Duty, Next},
    call::in_time,
    error::Error,
    ms,
    notify::{Notice, shown},
    walk::Walk,
};

/// Schedules of one step: listed, and looked at.
const PAGE: usize = 64;
/// Rest between two steps. It bounds what the listing costs, however many schedules there are.
const EVERY: Duration = Duration::from_millis(250);
/// Schedules that are kept, those whose look is next; the others are listed again.
const KEPT_MAX: usize = 50_000;
/// An instant without a record is looked at again after this, and told of then: the scan may just be at it.
const CONFIRM_MS: Millis = 2_000;
/// A schedule is not looked at more often.
const LOOK_EVERY_MS: Millis = 2_000;
/// How much older than the grace an instant may be when this process first hears of its schedule.
const MARGIN_MS: Millis = 10_000;

/// A look that is to be taken.
#[derive(Debug, Clone)]
pub(crate) struct Check {
    pub(crate) incarnation: u64,
    /// Instants after this one have not been looked at.
    pub(crate) after: Millis,
    /// Something was missing at the last look.
    pub(crate) suspect: bool,
}

/// The duty in all partitions.
pub(crate) struct Absence {
    walk: Walk,
    /// Where the listing of the partition stands.
    listed: Option<String>,
    checks: BTreeMap<(Millis, String), Check>,
    known: HashMap<String, Millis>,
}

impl Absence {
    pub(crate) fn new(partitions: u16) -> Self {
        Self {
            walk: Walk::new(partitions),
            listed: None,
            checks: BTreeMap::new(),
            known: HashMap::new(),
        }
    }

    /// Lists a page of the partition whose turn it is; the store's clock.
    async fn list(&mut self, town: &Town) -> Result<Option<Millis>, Error> {
        let Some(partition) = self.walk.here(&town.turns) else {
            self.listed = None;
            self.walk.go_on();
            return Ok(None);
        };
        let store = &town.parts.store;
        let now = in_time(store.due_schedules(partition, 0)).await?.now;
        let page = in_time(store.schedules(partition, self.listed.as_deref(), PAGE)).await?;
        self.listed = page.last().map(|view| view.plan.name.clone());
        if page.len() < PAGE {
            self.listed = None;
            self.walk.go_on();
        }
        let grace = ms(town.config.absence_grace);
        for view in page {
            self.meet(&view, now, grace);
        }
        Ok(Some(now))
    }

    /// A schedule that was listed: its first look comes at once, and finds out when the next is worth it.
    fn meet(&mut self, view: &ScheduleView, now: Millis, grace: Millis) {
        let plan = &view.plan;
        if plan.is_paused() || plan.is_used_up() || self.known.contains_key(&plan.name) {
            return;
        }
        let check = Check {
            incarnation: plan.incarnation,
            after: now - grace - MARGIN_MS,
            suspect: false,
        };
        self.keep(plan.name.clone(), now, check);
    }

    fn keep(&mut self, name: String, at: Millis, check: Check) {
        self.known.insert(name.clone(), at);
        self.checks.insert((at, name), check);
        if self.checks.len() > KEPT_MAX
            && let Some(((_, name), _)) = self.checks.pop_last()
        {
            self.known.remove(&name);
        }
    }

    /// The next schedule to look at, if its time has come.
    fn take(&mut self, now: Millis) -> Option<(String, Check)> {
        let first = self.checks.first_entry().filter(|first| first.key().0 <= now)?;
        let ((_, name), check) = first.remove_entry();
        self.known.remove(&name);
        Some((name, check))
    }

    /// Looks at one schedule, and tells of what is missing for the second time.
    async fn check(&mut self, town: &Town, now: Millis, name: String, check: Check) -> Result<(), Error> {
        let Some(finding) = look(town, now, &name, &check).await? else {
            return Ok(());
        };
        let Finding { missing, after, next } = finding;
        if !missing.is_empty() && !check.suspect {
            let check = Check {
                suspect: true,
                ..check
            };
            self.keep(name, now + CONFIRM_MS, check);
            return Ok(());
        }
        if let Some(first) = missing.first() {
            missing.iter().for_each(|_| town.parts.metrics.absent_trigger());
            town.notices.tell(Notice {
                kind: "absent_trigger",
                schedule: name.clone(),
                planned_at: shown(*first),
                count: missing.len(),
                text: "planned instants have no record, neither fired nor skipped nor missed".into(),
            });
        }
        // One that has no instant any more is kept too: met anew, its last ones would be told of again.
        let next = next.unwrap_or(now + ms(town.config.absence_grace) + MARGIN_MS);
        let check = Check {
            after,
            suspect: false,
            ..check
        };
        self.keep(name, next.max(now + LOOK_EVERY_MS), check);
        Ok(())
    }
}

impl Duty for Absence {
    const NAME: &'static str = "absence";

    fn every(&self, _: &Town) -> Duration {
        EVERY
    }

    async fn step(&mut self, town: &Town) -> Result<Next, Error> {
        let Some(now) = self.list(town).await? else {
            return Ok(Next::Later);
        };
        for _ in 0..PAGE {
            let Some((name, check)) = self.take(now) else {
                return Ok(Next::Later);
            };
            let looked = self.check(town, now, name.clone(), check.clone()).await;
            if looked.is_err() {
                self.keep(name, now, check);
                return looked.map(|()| Next::Later);
            }
        }
        Ok(Next::Now)
    }
}
