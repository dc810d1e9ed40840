//! What is known when a task is explained.

use domain::{Millis, RunTimes, TaskId, TimelineItem, TypeSpec};
use proto::ProbeReply;
use serde::Serialize;
use store::{LeaseView, TaskView, TypePause};

/// Everything that an explanation may rest on.
#[derive(Debug)]
pub(super) struct Facts {
    pub(super) view: TaskView,
    /// The store's clock.
    pub(super) now: Millis,
    pub(super) timeline: Vec<TimelineItem>,
    /// The task's type, where it is declared.
    pub(super) spec: Option<TypeSpec>,
    /// Who paused the type, where that is known.
    pub(super) pause: Option<TypePause>,
    pub(super) pool: Pool,
    /// Why nothing is heard of executors, where nothing is.
    pub(super) deaf: Option<String>,
    /// The earlier task of its schedule for which it waits.
    pub(super) before: Option<Before>,
    pub(super) lease: Option<LeaseView>,
    /// How long successful runs of its type usually take.
    pub(super) usual: Option<RunTimes>,
    /// What the executor says of the run, or why it says nothing.
    pub(super) probe: Option<Result<ProbeReply, String>>,
}

/// The pool of the task: who works in it, and what waits.
#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct Pool {
    pub(super) name: String,
    /// Executors that reported within the last 3 s.
    pub(super) executors: usize,
    pub(super) slots: u64,
    pub(super) free: u64,
    /// Tasks ready in the task's tier.
    pub(super) ready: u64,
    /// How long the oldest of them has waited, in milliseconds.
    pub(super) oldest_ready_ms: Millis,
}

/// An earlier task of the same schedule.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Before {
    pub(super) task_id: TaskId,
    /// Its status, where it is still there.
    pub(super) status: Option<&'static str>,
    /// How many tasks of the schedule stand before this one, with that one.
    pub(super) tasks: usize,
    pub(super) schedule: String,
    pub(super) overlap: &'static str,
    /// Whether that one was told to stop.
    pub(super) stopping: bool,
}

impl Facts {
    /// Whether the type of the task is paused.
    pub(super) fn is_paused(&self) -> bool {
        self.spec.as_ref().is_some_and(|spec| spec.paused)
    }
}
