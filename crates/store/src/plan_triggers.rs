//! What a fire writes, and the records of the ledger.

use bytes::Bytes;
use domain::{Millis, Overlap, TaskId, TriggerOutcome};

use crate::{Hint, NewTask, Plan, Seen};

/// A record to write: of one planned instant, or of consecutive ones that ended alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTrigger {
    /// The instant, of a range its first. By hand, 0 is the store's clock.
    pub planned_at: Millis,
    /// The last instant of a range; else the same.
    pub to: Millis,
    /// How many planned instants those are.
    pub count: u32,
    /// How they ended. A fire may still be skipped by the overlap policy.
    pub outcome: TriggerOutcome,
    /// Why, in a few words; empty for a fire in its time.
    pub reason: String,
    /// The task of a fire, with an id in the schedule's partition; none for the other outcomes.
    pub task: Option<NewTask>,
    /// Asked for by a person: it stands beside the planned instants and is none of them.
    pub manual: bool,
}

impl NewTrigger {
    /// A fire with its task.
    #[must_use]
    pub fn fire(planned_at: Millis, reason: &str, task: NewTask) -> Self {
        Self {
            planned_at,
            to: planned_at,
            count: 1,
            outcome: TriggerOutcome::Fired,
            reason: reason.to_owned(),
            task: Some(task),
            manual: false,
        }
    }
}

/// Moves a schedule's cursor, and writes what became of the instants on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Firing {
    /// The schedule.
    pub name: String,
    /// What the caller saw.
    pub seen: Seen,
    /// The overlap policy that the caller saw.
    pub overlap: Overlap,
    /// The new cursor, not after the store's clock.
    pub cursor: Millis,
    /// The planned instant after it; 0: none any more.
    pub next: Millis,
    /// When that is to be fired.
    pub due: Millis,
    /// The decision after it; at most [`crate::DECISION_BYTES`]. A firing may change it alone, with the cursor where it
    /// was.
    pub decision: Bytes,
    /// The records, oldest first, of instants after the old cursor and up to the new one.
    pub records: Vec<NewTrigger>,
}

impl Firing {
    /// A firing that changes nothing yet of a schedule as it was seen.
    #[must_use]
    pub fn untouched(plan: &Plan) -> Self {
        Self {
            name: plan.name.clone(),
            seen: plan.seen(),
            overlap: plan.overlap,
            cursor: plan.cursor,
            next: plan.next,
            due: plan.due,
            decision: plan.decision.clone(),
            records: Vec::new(),
        }
    }
}

/// What a firing did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fired {
    /// The plan after.
    pub plan: Plan,
    /// What became of each record, in order.
    pub records: Vec<Triggered>,
}

/// What became of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Triggered {
    /// The instant.
    pub planned_at: Millis,
    /// How it ended.
    pub outcome: TriggerOutcome,
    /// Why; `overlap`, `queue full` and `finished` are the store's own words.
    pub reason: String,
    /// Its task.
    pub task: Option<TaskId>,
    /// What to send for the task.
    pub hint: Hint,
    /// Whether the task waits until earlier ones have ended.
    pub blocked: bool,
    /// Whether a record was written now. Not where the instant had one that counts, and not beyond `max_fires`.
    pub fresh: bool,
}

/// A record of the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trigger {
    /// The incarnation of the schedule.
    pub incarnation: u64,
    /// The instant, of a range its first.
    pub planned_at: Millis,
    /// The last instant of a range; else the same.
    pub to: Millis,
    /// How many planned instants it stands for: those from `planned_at` to `to` that have no record of their own.
    pub count: u32,
    /// How they ended.
    pub outcome: TriggerOutcome,
    /// Why.
    pub reason: String,
    /// When it was recorded.
    pub at: Millis,
    /// The task of a fire.
    pub task: Option<TaskId>,
    /// Asked for by a person.
    pub manual: bool,
}

/// Which records to show. A range stands where it begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TriggerRange {
    /// Only instants at or after.
    pub since: Option<Millis>,
    /// Only instants before.
    pub until: Option<Millis>,
    /// The newest first instead of the oldest.
    pub newest_first: bool,
}

/// A page of records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Triggers {
    /// The records.
    pub items: Vec<Trigger>,
    /// Where to go on; none at the end.
    pub next: Option<String>,
}
