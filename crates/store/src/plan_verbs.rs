//! What the verbs of the plan table take and answer.

use bytes::Bytes;
use domain::{Millis, Overlap, TaskId, TriggerOutcome};
use thiserror::Error;

use crate::NewTrigger;

/// What a caller saw of a schedule; where it is no longer so, the call is refused as [`PlanRefusal::Moved`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Seen {
    /// Its incarnation.
    pub incarnation: u64,
    /// The version of its definition.
    pub version: u32,
    /// Its cursor.
    pub cursor: Millis,
    /// How often its decision changed.
    pub decisions: u32,
}

/// A schedule to create or to change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutSchedule {
    /// Its name.
    pub name: String,
    /// Its definition, opaque to the store. The same bytes and limits change nothing and keep the cursor.
    pub spec: Bytes,
    /// What it does where an earlier task of it still lives.
    pub overlap: Overlap,
    /// Most tasks that wait for an earlier one, under [`Overlap::Queue`]; at most [`crate::LIVE_MAX`].
    pub queue_max: u16,
    /// Fires after which it ends; 0: never.
    pub max_fires: u64,
    /// What the caller saw; none where it saw no such schedule.
    pub seen: Option<Seen>,
    /// The new cursor: the store's clock, at most [`crate::CLOCK_TOLERANCE_MS`] old. Instants up to it are none of the
    /// new definition's.
    pub anchor: Millis,
    /// The first planned instant after the anchor; 0: none.
    pub next: Millis,
    /// When that is to be fired: later where the schedule has a spread.
    pub due: Millis,
    /// What becomes of the old definition's instants between its cursor and the anchor: skipped or missed, never a
    /// task. Nothing is written of them where the schedule is new or unchanged.
    pub owed: Vec<NewTrigger>,
}

/// What a put did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutHow {
    /// A new incarnation.
    Created,
    /// A new version, whose cursor is the anchor.
    Changed,
    /// Nothing: the definition was the same.
    Unchanged,
}

/// A schedule after a put.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Put {
    /// What was done.
    pub how: PutHow,
    /// The plan after.
    pub plan: Plan,
}

/// A schedule's line in the plan table, without its definition. Times are milliseconds since the epoch; 0 is never.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Its name.
    pub name: String,
    /// Differs for each schedule that ever had this name, and grows.
    pub incarnation: u64,
    /// Number of its definitions so far, from 1.
    pub version: u32,
    /// Up to here every planned instant has its record.
    pub cursor: Millis,
    /// The planned instant that is next; 0: none any more.
    pub next: Millis,
    /// When that is to be fired.
    pub due: Millis,
    /// What it does where an earlier task of it still lives.
    pub overlap: Overlap,
    /// Most tasks that wait for an earlier one.
    pub queue_max: u16,
    /// Fires after which it ends; 0: never.
    pub max_fires: u64,
    /// Planned instants that became a task. Triggers by hand and backfills do not count.
    pub fires: u64,
    /// When it was created.
    pub created_at: Millis,
    /// When its definition last changed.
    pub changed_at: Millis,
    /// What was decided about instants after the cursor and is not carried out whole; opaque to the store, empty for
    /// nothing.
    pub decision: Bytes,
    /// How often that changed.
    pub decisions: u32,
    /// The pause that lasts, or the last one.
    pub pause: Option<Pause>,
    /// The record of its latest instant.
    pub last: Option<LastTrigger>,
    /// Its latest instant that became a task.
    pub last_fired: Option<LastFired>,
}

/// A pause of a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pause {
    /// Who paused it.
    pub by: String,
    /// Why.
    pub reason: String,
    /// Since when. Where it follows a pause whose instants have no records yet, since that one's start.
    pub since: Millis,
    /// When it ended; 0 while it lasts.
    pub until: Millis,
}

/// The record of the latest instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastTrigger {
    /// The instant, of a range its last one.
    pub planned_at: Millis,
    /// When it was recorded.
    pub at: Millis,
    /// How it ended.
    pub outcome: TriggerOutcome,
    /// Why.
    pub reason: String,
}

/// The latest fire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastFired {
    /// The planned instant.
    pub planned_at: Millis,
    /// When it was fired.
    pub at: Millis,
    /// The task.
    pub task: TaskId,
}

/// Where a schedule stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanState {
    /// It fires.
    Active,
    /// It fires nothing until it is resumed.
    Paused,
    /// It has no further instant.
    Finished,
}

impl PlanState {
    /// The word used in the API.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Paused => "paused",
            Self::Finished => "finished",
        }
    }
}

impl Plan {
    /// What the next call has to have seen.
    #[must_use]
    pub const fn seen(&self) -> Seen {
        Seen {
            incarnation: self.incarnation,
            version: self.version,
            cursor: self.cursor,
            decisions: self.decisions,
        }
    }

    /// Whether it is paused now.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.pause.as_ref().is_some_and(|pause| pause.until == 0)
    }

    /// Where it stands.
    #[must_use]
    pub fn state(&self) -> PlanState {
        if self.is_paused() {
            PlanState::Paused
        } else if self.next == 0 {
            PlanState::Finished
        } else {
            PlanState::Active
        }
    }

    /// Whether it has fired as often as it may.
    #[must_use]
    pub const fn is_used_up(&self) -> bool {
        self.max_fires > 0 && self.fires >= self.max_fires
    }
}

/// A task of a schedule that has not ended. Under [`Overlap::Allow`] nobody keeps them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiveTask {
    /// The task.
    pub id: TaskId,
    /// Whether it waits until those before it have ended.
    pub blocked: bool,
}

/// A schedule with its definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleView {
    /// Its line in the plan table.
    pub plan: Plan,
    /// Its definition.
    pub spec: Bytes,
    /// Its tasks that have not ended, in the order in which they run.
    pub live: Vec<LiveTask>,
}

/// Schedules whose time has come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DueSchedules {
    /// The store's clock.
    pub now: Millis,
    /// The schedules, the one due first before the others.
    pub items: Vec<ScheduleView>,
}

/// A calendar as the control state keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Calendar {
    /// Its name.
    pub name: String,
    /// Number of its contents so far, from 1.
    pub version: u64,
    /// Its days, opaque to the store.
    pub body: Bytes,
}

/// Why nothing was done for a schedule, or for a record of it. A value, not an error: races make refusals normal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
pub enum PlanRefusal {
    /// There is no such schedule, or it is another incarnation.
    #[error("no such schedule")]
    Missing,
    /// The caller's picture of the schedule is out of date; read it again.
    #[error("the schedule has changed in between")]
    Moved,
    /// It is paused.
    #[error("the schedule is paused")]
    Paused,
    /// It has fired as often as it may.
    #[error("the schedule has fired as often as it may")]
    Finished,
    /// The instant is still to come by the store's clock, or is still the scan's to fire.
    #[error("the instant is still to come")]
    NotDue,
    /// Too many of its tasks wait for their turn.
    #[error("too many tasks of the schedule wait for their turn")]
    Full,
    /// The anchor is not the store's clock.
    #[error("the anchor is not the store's clock")]
    Clock,
}

impl PlanRefusal {
    /// Every refusal.
    pub const ALL: [Self; 7] = [
        Self::Missing,
        Self::Moved,
        Self::Paused,
        Self::Finished,
        Self::NotDue,
        Self::Full,
        Self::Clock,
    ];

    /// The word used by the scripts and the metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Moved => "moved",
            Self::Paused => "paused",
            Self::Finished => "finished",
            Self::NotDue => "not_due",
            Self::Full => "full",
            Self::Clock => "clock",
        }
    }

    /// The refusal with this word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|refusal| refusal.as_str() == word)
    }
}

/// The result for one schedule: its plan after, or the refusal.
pub type PlanVerdict = Result<Plan, PlanRefusal>;
