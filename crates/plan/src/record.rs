//! How planned instants end: the records of the ledger, before anybody wrote them.

use domain::{Millis, TriggerOutcome};

use crate::Policy;

/// Why an instant did not fire, or fired although it was late.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The schedule's misfire policy.
    Misfire(Policy),
    /// An operator's choice about the backlog.
    Backlog,
    /// The schedule was paused.
    Paused,
    /// The schedule was changed or deleted before the instant was fired.
    Changed,
}

impl Reason {
    /// The words of the ledger.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Misfire(Policy::Skip) => "misfire skip",
            Self::Misfire(Policy::FireOnce) => "misfire fire_once",
            Self::Misfire(Policy::CatchUp { .. }) => "misfire catch_up",
            Self::Backlog => "backlog",
            Self::Paused => "paused",
            Self::Changed => "changed",
        }
    }

    /// How an instant ends that this reason passes over.
    #[must_use]
    pub const fn outcome(self) -> TriggerOutcome {
        match self {
            Self::Misfire(_) => TriggerOutcome::Missed,
            Self::Backlog | Self::Paused | Self::Changed => TriggerOutcome::Skipped,
        }
    }
}

/// A record to write: of one fire, or of consecutive instants that were passed over for the same reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// The instant, of a range its first.
    pub planned_at: Millis,
    /// The last instant of a range; else the same.
    pub to: Millis,
    /// How many instants those are.
    pub count: u32,
    /// When the (first) instant was due: its lateness counts from here.
    pub due: Millis,
    /// How they ended.
    pub outcome: TriggerOutcome,
    /// Why; none for a fire that no policy had to decide about.
    pub reason: Option<Reason>,
}

impl Record {
    /// The words of the ledger; empty for a fire that no policy had to decide about.
    #[must_use]
    pub fn reason_words(&self) -> &'static str {
        self.reason.map_or("", Reason::as_str)
    }

    /// Takes one more instant in, where it ends as this one does and is no fire.
    pub(crate) fn join(&mut self, other: &Self) -> bool {
        let alike = (self.outcome, self.reason) == (other.outcome, other.reason);
        let joined = alike && self.outcome != TriggerOutcome::Fired && self.count < u32::MAX;
        if joined {
            self.count += 1;
            self.to = other.to;
        }
        joined
    }
}
