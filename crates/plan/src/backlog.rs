//! What waits to be decided about, and what each policy would make of it.

use domain::Millis;

use crate::{Choice, Plan, Policy, Settlement, Standing};

/// The most instants that are counted; of more, this many are told.
const COUNT_MAX: u64 = 100_000;

/// What one choice would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Would {
    /// The choice.
    pub choice: Choice,
    /// How many instants would fire.
    pub fires: u64,
    /// The first of them.
    pub first: Option<Millis>,
    /// The last of them.
    pub last: Option<Millis>,
    /// How many would be passed over.
    pub passed: u64,
}

/// The instants that are due and without a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backlog {
    /// How many, up to 100,000.
    pub count: u64,
    /// Whether there are no more than `count`.
    pub is_exact: bool,
    /// The first.
    pub first: Option<Millis>,
    /// The last.
    pub last: Option<Millis>,
    /// What `skip`, `fire_once` and `catch_up` would do, in this order; a schedule's own catch-up has its own bounds.
    pub would: Vec<Would>,
}

impl Plan {
    /// What is due by now. On a running schedule that is next to nothing; during a pause and after an outage it is what
    /// came in between.
    #[must_use]
    pub fn backlog(&self, standing: &Standing, now: Millis) -> Backlog {
        let last = self.newest_due(standing.cursor, now).map(|step| step.planned_at);
        let mut instants = self.between(
            standing.cursor.saturating_add(1),
            last.map_or(Millis::MIN, |last| last + 1),
        );
        let first = instants.next();
        let count =
            u64::from(first.is_some()) + instants.by_ref().take(COUNT_MAX as usize - 1).count() as u64;
        let is_exact = instants.next().is_none();
        let own = self.schedule().misfire.policy;
        let catch_up = match own {
            Policy::CatchUp { .. } => own,
            Policy::Skip | Policy::FireOnce => Policy::catch_up(),
        };
        let would = [Policy::Skip, Policy::FireOnce, catch_up]
            .map(|policy| self.would(standing, now, Choice::Policy(policy), count));
        Backlog {
            count,
            is_exact,
            first,
            last,
            would: would.into(),
        }
    }

    /// What a choice would do with a backlog of so many instants; for a dry run.
    #[must_use]
    pub fn would(&self, standing: &Standing, now: Millis, choice: Choice, count: u64) -> Would {
        let fires = self
            .settle(standing, now, choice)
            .map_or_else(Vec::new, |settled| self.fires_of(standing, &settled));
        Would {
            choice,
            fires: fires.len() as u64,
            first: fires.first().copied(),
            last: fires.last().copied(),
            passed: count.saturating_sub(fires.len() as u64),
        }
    }

    /// The instants that a decision lets fire, up to `max_fires`.
    fn fires_of(&self, standing: &Standing, settled: &Settlement) -> Vec<Millis> {
        let left = self
            .schedule()
            .max_fires
            .map_or(COUNT_MAX, |most| most.saturating_sub(standing.fires));
        let from = settled.from.max(standing.cursor.saturating_add(1));
        let end = settled.to.min(settled.until).saturating_add(1);
        self.between(from, end)
            .take(left.min(COUNT_MAX) as usize)
            .collect()
    }
}
