//! Decides about instants that are too late, once for all of them, so that the answer does not depend on how many
//! slices it takes to write it down.

use domain::Millis;

use crate::{Plan, Policy, Reason, Standing};

/// What becomes of every instant up to `until`: those from `from` to `to` fire, the others are passed over. Both ends
/// are included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settlement {
    /// The first instant that may fire.
    pub from: Millis,
    /// The last instant that may fire.
    pub to: Millis,
    /// The last instant that this speaks of.
    pub until: Millis,
    /// Why.
    pub reason: Reason,
}

impl Settlement {
    pub(crate) const fn fires(&self, planned_at: Millis) -> bool {
        self.from <= planned_at && planned_at <= self.to
    }
}

/// What an operator wants of a backlog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// What this policy would do.
    Policy(Policy),
    /// Only the instants from one on, up to another, which is excluded.
    Range {
        /// The first.
        from: Millis,
        /// Where it ends.
        to: Millis,
    },
}

impl Plan {
    /// The decision of the schedule's own policy about everything that is a misfire by now.
    pub(crate) fn settle_misfires(&self, cursor: Millis, now: Millis) -> Option<Settlement> {
        let misfire = self.schedule().misfire;
        let late = now.saturating_sub(misfire.grace_ms).saturating_sub(1);
        let reason = Reason::Misfire(misfire.policy);
        self.settle_by(misfire.policy, cursor, now, late, reason)
    }

    /// An operator's decision about everything that is due by now: give it to the next slice in [`Standing`]. None
    /// where nothing is due.
    #[must_use]
    pub fn settle(&self, standing: &Standing, now: Millis, choice: Choice) -> Option<Settlement> {
        match choice {
            Choice::Policy(policy) => self.settle_by(policy, standing.cursor, now, now, Reason::Backlog),
            Choice::Range { from, to } => Some(Settlement {
                from,
                to: to.saturating_sub(1),
                until: self.newest_due(standing.cursor, now)?.planned_at,
                reason: Reason::Backlog,
            }),
        }
    }

    /// What a policy makes of the instants after a cursor that are due at or before `due_until`.
    pub(crate) fn settle_by(
        &self,
        policy: Policy,
        cursor: Millis,
        now: Millis,
        due_until: Millis,
        reason: Reason,
    ) -> Option<Settlement> {
        let until = self.newest_due(cursor, due_until)?.planned_at;
        let from = match policy {
            Policy::Skip => Millis::MAX,
            Policy::FireOnce => until,
            Policy::CatchUp { max, within_ms } => {
                let newest = self.first_of_newest(max, cursor, until)?;
                newest.max(now.saturating_sub(within_ms))
            }
        };
        Some(Settlement {
            from,
            to: until,
            until,
            reason,
        })
    }
}
