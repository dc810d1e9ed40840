//! The policy engine: from where a schedule stands, and the time, to the records of the instants in between.

use domain::{Millis, TriggerOutcome};

use crate::plan::Step;
use crate::record::Record;
use crate::{Next, Plan, Reason, Settlement};

/// Where a schedule stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Up to here every planned instant has its record.
    pub cursor: Millis,
    /// Planned instants that fired so far.
    pub fires: u64,
    /// The last pause, if instants of it may be without a record yet.
    pub pause: Option<Pause>,
    /// A decision that was not carried out whole. Where a caller can't keep it, it is made anew from what is left.
    pub settlement: Option<Settlement>,
}

impl Standing {
    /// A schedule that has fired nothing after this cursor.
    #[must_use]
    pub const fn at(cursor: Millis) -> Self {
        Self {
            cursor,
            fires: 0,
            pause: None,
            settlement: None,
        }
    }
}

/// A pause that has ended: instants that were due in it and don't fire are `skipped: paused`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pause {
    /// When it began.
    pub since: Millis,
    /// When it ended; excluded.
    pub until: Millis,
}

/// How much one slice may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Records.
    pub records: usize,
    /// Planned instants that are walked along.
    pub steps: usize,
}

impl Default for Bounds {
    /// 64 records, as many as one call of the store takes, and 4,096 steps: some milliseconds.
    fn default() -> Self {
        Self {
            records: 64,
            steps: 4_096,
        }
    }
}

/// What one slice came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slice {
    /// The records, oldest first: of every instant after the old cursor and up to the new one, exactly once.
    pub records: Vec<Record>,
    /// Where the schedule stands once they are written, and all its fires became tasks.
    pub standing: Standing,
    /// The planned instant after the new cursor; none where none comes any more.
    pub next: Option<Next>,
    /// Whether to ask again at once: there is more to do by now, or `max_fires` may be reached.
    pub more: bool,
}

impl Plan {
    /// What becomes of the instants that are due by now, as far as one slice goes. Not to be asked while paused.
    #[must_use]
    pub fn slice(&self, standing: &Standing, now: Millis) -> Slice {
        self.slice_within(standing, now, Bounds::default())
    }

    /// As [`Plan::slice`], within other bounds.
    #[must_use]
    pub fn slice_within(&self, standing: &Standing, now: Millis, bounds: Bounds) -> Slice {
        let mut walk = Walk::new(self, standing, bounds);
        while let Some(step) = walk.step().filter(|step| step.due <= now) {
            let late = now.saturating_sub(step.due) > self.schedule().misfire.grace_ms;
            if late && walk.settlement_of(step).is_none() {
                walk.standing.settlement = self.settle_misfires(walk.standing.cursor, now);
            }
            let reason = walk
                .settlement_of(step)
                .map(|settled| (settled.fires(step.planned_at), settled.reason));
            if !walk.take(step, reason) {
                break;
            }
        }
        walk.finish()
    }

    /// Passes over what is planned up to an instant, whatever the policy: what a definition leaves behind that is
    /// changed. Ask again while there is more.
    #[must_use]
    pub fn pass(&self, standing: &Standing, until: Millis, reason: Reason) -> Slice {
        let mut walk = Walk::new(self, standing, Bounds::default());
        while let Some(step) = walk.step().filter(|step| step.planned_at <= until) {
            if !walk.take(step, Some((false, reason))) {
                break;
            }
        }
        walk.finish()
    }
}

/// A walk along the timetable that makes records.
struct Walk<'p> {
    plan: &'p Plan,
    standing: Standing,
    bounds: Bounds,
    records: Vec<Record>,
    step: Option<Step>,
    /// Whether it ended for another reason than that nothing more is due.
    more: bool,
}

impl<'p> Walk<'p> {
    fn new(plan: &'p Plan, standing: &Standing, bounds: Bounds) -> Self {
        let mut walk = Self {
            plan,
            standing: *standing,
            bounds,
            records: Vec::new(),
            step: None,
            more: false,
        };
        if !walk.is_used_up() {
            walk.step = plan.step_after(standing.cursor);
        }
        walk
    }

    fn is_used_up(&self) -> bool {
        let most = self.plan.schedule().max_fires;
        most.is_some_and(|most| self.standing.fires >= most)
    }

    fn step(&self) -> Option<Step> {
        self.step
    }

    /// The decision that speaks of a step.
    fn settlement_of(&self, step: Step) -> Option<Settlement> {
        self.standing
            .settlement
            .filter(|settled| step.planned_at <= settled.until)
    }

    /// Records what becomes of a step: whether it fires, and why; by default it fires. Says whether to go on.
    fn take(&mut self, step: Step, decided: Option<(bool, Reason)>) -> bool {
        let record = match decided {
            None => record(step, TriggerOutcome::Fired, None),
            Some((true, reason)) => record(step, TriggerOutcome::Fired, Some(reason)),
            Some((false, reason)) => {
                let reason = self.in_pause(step).unwrap_or(reason);
                record(step, reason.outcome(), Some(reason))
            }
        };
        let is_full = self.records.len() >= self.bounds.records;
        let joined = self.bounds.steps > 0 && self.records.last_mut().is_some_and(|last| last.join(&record));
        if self.bounds.steps == 0 || is_full && !joined {
            self.more = true;
            return false;
        }
        if !joined {
            self.records.push(record);
        }
        self.bounds.steps -= 1;
        self.standing.cursor = step.planned_at;
        self.standing.fires += u64::from(record.outcome == TriggerOutcome::Fired);
        self.step = step.following.map(|at| self.plan.step(at));
        self.more = self.is_used_up();
        !self.more
    }

    fn in_pause(&self, step: Step) -> Option<Reason> {
        let pause = self.standing.pause?;
        (pause.since <= step.due && step.due < pause.until).then_some(Reason::Paused)
    }

    fn finish(mut self) -> Slice {
        let cursor = self.standing.cursor;
        self.standing.settlement = self
            .standing
            .settlement
            .filter(|settled| settled.until > cursor && self.step.is_some());
        // A pause matters as long as the next instant was due in it.
        let next_due = self.step.map(|step| step.due);
        let owes = |pause: &Pause| next_due.is_some_and(|due| due < pause.until);
        self.standing.pause = self.standing.pause.filter(owes);
        Slice {
            records: self.records,
            standing: self.standing,
            next: self.step.map(Step::next),
            more: self.more,
        }
    }
}

const fn record(step: Step, outcome: TriggerOutcome, reason: Option<Reason>) -> Record {
    Record {
        planned_at: step.planned_at,
        to: step.planned_at,
        count: 1,
        due: step.due,
        outcome,
        reason,
    }
}
