//! What the watchman's tools read: leases, pauses of types, what runs and how long runs usually take.

use std::collections::BTreeMap;

use async_trait::async_trait;
use domain::{Millis, Partition, RunTimes, Task, TaskId};

use crate::Error;

/// The lease of a running task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseView {
    /// When it ends unless it is renewed.
    pub ends_at: Millis,
    /// Milliseconds for which a heartbeat renews it; 0 where no scheduler has said so yet.
    pub length_ms: i64,
    /// The store's clock.
    pub now: Millis,
}

/// Who paused a type, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypePause {
    /// Who.
    pub by: String,
    /// Why; empty where nobody said.
    pub reason: String,
    /// Since when, by the store's clock.
    pub since: Millis,
    /// Whether everything was paused at once.
    pub all: bool,
}

/// Some of the tasks that run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunningTasks {
    /// The store's clock.
    pub now: Millis,
    /// The tasks, by the end of their lease.
    pub items: Vec<Task>,
    /// Whether there are more.
    pub more: bool,
}

/// What is read to say why a task stands where it stands. Nothing here changes a task.
#[async_trait]
pub trait WatchStore: Send + Sync + 'static {
    /// The lease of a task; none where it does not run.
    async fn lease(&self, id: TaskId) -> Result<Option<LeaseView>, Error>;

    /// Who paused which type. A paused type without an entry was paused before this was kept.
    async fn pauses(&self) -> Result<BTreeMap<String, TypePause>, Error>;

    /// Notes who paused types, or that they are not paused any more. A type that is paused already keeps its entry. The
    /// pause itself is [`crate::TaskStore::put_types`]'.
    async fn note_pauses(&self, pauses: &[(String, Option<TypePause>)]) -> Result<(), Error>;

    /// Tasks that run, at most [`crate::BATCH_MAX`], after the first `skip`. What is renewed meanwhile may be left out,
    /// or come twice: a later look sees it.
    async fn running(&self, partition: Partition, skip: usize) -> Result<RunningTasks, Error>;

    /// How long the successful runs of each type took, of this day and the day before (UTC), as far as they are recorded.
    async fn run_times(&self) -> Result<BTreeMap<String, RunTimes>, Error>;
}
