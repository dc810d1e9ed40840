//! What the audit reads: tasks with every place in which they stand, counters, and indices. Nothing here changes anything.

use std::collections::BTreeMap;

use async_trait::async_trait;
use bytes::Bytes;
use domain::{Millis, Partition, Status, Task, TaskId, Tier, TimelineItem};

use crate::{Error, OutboxEntry};

/// Most tasks in one page of the audit, as their payloads come with them.
pub const AUDIT_PAGE: usize = 32;
/// Most tasks that are counted in one step.
pub const AUDIT_COUNT_MAX: usize = 4_096;

/// A place in which a task can stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// Waits for a time.
    Due,
    /// A hint is on its way.
    Dispatched,
    /// Under a lease.
    Lease,
    /// Among the dead letters.
    Dead,
    /// Waits for its turn.
    Queue,
    /// Waits until earlier tasks of its schedule have ended.
    Blocked,
}

impl Place {
    /// The indices that hold tasks of all types.
    pub const INDICES: [Self; 4] = [Self::Due, Self::Dispatched, Self::Lease, Self::Dead];

    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Due => "due",
            Self::Dispatched => "dispatched",
            Self::Lease => "lease",
            Self::Dead => "dead",
            Self::Queue => "queue",
            Self::Blocked => "blocked",
        }
    }
}

/// A task as the audit sees it, read in one step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditedTask {
    /// Its record.
    pub task: Task,
    /// Its timeline, oldest first, at most [`crate::TIMELINE_MAX`] items.
    pub timeline: Vec<TimelineItem>,
    /// Where it stands, with the score there (0 where it has none).
    pub places: Vec<(Place, Millis)>,
    /// The task that its idempotency key names; none where the key is not there.
    pub key_holder: Option<TaskId>,
    /// The payload that is kept.
    pub payload: Bytes,
}

/// Some tasks, in the order of their creation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditPage {
    /// The store's clock.
    pub now: Millis,
    /// The tasks; those that were removed are left out.
    pub tasks: Vec<AuditedTask>,
    /// The next cursor; none at the end.
    pub next: Option<u64>,
}

/// Counters of a partition against what they count, both of one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// What the counters say, by type and status.
    pub counters: BTreeMap<(String, Status), i64>,
    /// How many tasks there are.
    pub tasks: BTreeMap<(String, Status), i64>,
}

/// What the audit reads.
#[async_trait]
pub trait AuditStore: Send + Sync + 'static {
    /// At most [`AUDIT_PAGE`] tasks from a cursor on; 0 is the start. `wanted` leaves out tasks by their id.
    async fn audit_page(
        &self,
        partition: Partition,
        cursor: u64,
        wanted: &(dyn for<'a> Fn(&'a TaskId) -> bool + Sync),
    ) -> Result<AuditPage, Error>;

    /// These tasks of a partition, at most [`AUDIT_PAGE`]; those that are not there are left out.
    async fn audit_tasks(&self, partition: Partition, ids: &[TaskId]) -> Result<AuditPage, Error>;

    /// Members of an index that name no task, of the [`crate::BATCH_MAX`] after the first `skip`, and whether there are
    /// more members. What was removed meanwhile is none of them.
    async fn orphans(
        &self,
        partition: Partition,
        index: Place,
        skip: usize,
    ) -> Result<(Vec<TaskId>, bool), Error>;

    /// The same of the queue of one pool, tier and type.
    async fn queue_orphans(
        &self,
        partition: Partition,
        line: (&str, Tier, &str),
        skip: usize,
    ) -> Result<(Vec<TaskId>, bool), Error>;

    /// Entries of the outbox after one, at most [`crate::BATCH_MAX`].
    async fn outbox_after(
        &self,
        partition: Partition,
        after: Option<&str>,
    ) -> Result<Vec<OutboxEntry>, Error>;

    /// Counters and what they count, of one moment; none where tasks come and go all the time, or where there are more
    /// than [`AUDIT_COUNT_MAX`] and something changed while they were counted.
    async fn tally(&self, partition: Partition) -> Result<Option<Tally>, Error>;
}
