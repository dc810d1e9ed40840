//! The runs of this executor: what the heartbeats renew.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::{Partition, Task, TaskId, Token};
use handler::{LeaseKeeper, Progress, ProgressView, StopReason, StopSignal, Stopper};
use tokio::{sync::Notify, time::Instant};

/// A run under a lease.
pub(crate) struct Running {
    pub(crate) partition: Partition,
    pub(crate) token: Token,
    pub(crate) stopper: Arc<Stopper>,
    pub(crate) keeper: LeaseKeeper,
    pub(crate) progress: Progress,
    pub(crate) stop: StopSignal,
    pub(crate) task_type: String,
    pub(crate) attempt: u32,
    pub(crate) since: Instant,
}

impl Running {
    /// A run that begins now.
    pub(crate) fn new(
        task: &Task,
        (partition, token): (Partition, Token),
        (stopper, stop): (Arc<Stopper>, StopSignal),
        keeper: LeaseKeeper,
    ) -> Self {
        Self {
            partition,
            token,
            stopper,
            keeper,
            progress: Progress::default(),
            stop,
            task_type: task.task_type.clone(),
            attempt: task.attempt,
            since: Instant::now(),
        }
    }
}

/// What is known of a run, for whoever asks.
pub(crate) struct RunView {
    pub(crate) progress: ProgressView,
    pub(crate) stop: Option<StopReason>,
    pub(crate) task_type: String,
    pub(crate) attempt: u32,
    pub(crate) ran: Duration,
}

/// All of them, by task.
#[derive(Default)]
pub(crate) struct Runs {
    map: Mutex<HashMap<TaskId, Running>>,
    emptied: Notify,
    /// Asks the heartbeats to come early: somebody wants a run to stop.
    pub(crate) nudged: Notify,
}

/// A run as the heartbeat names it: task and token.
pub(crate) type Lease = (TaskId, Token);

impl Runs {
    fn lock(&self) -> MutexGuard<'_, HashMap<TaskId, Running>> {
        self.map.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, id: TaskId, run: Running) {
        self.lock().insert(id, run);
    }

    /// Ends the care for a run, unless a later claim of the same task took its place.
    pub(crate) fn remove(&self, (id, token): Lease) {
        let mut map = self.lock();
        if map.get(&id).is_some_and(|run| run.token == token) {
            map.remove(&id);
        }
        if map.is_empty() {
            self.emptied.notify_waiters();
        }
    }

    pub(crate) fn stop(&self, (id, token): Lease, reason: StopReason) {
        if let Some(run) = self.lock().get(&id).filter(|run| run.token == token) {
            run.stopper.stop(reason);
        }
    }

    /// The lease of a run was renewed.
    pub(crate) fn extend(&self, (id, token): Lease, until: Instant) {
        if let Some(run) = self.lock().get(&id).filter(|run| run.token == token) {
            run.keeper.extend(until);
        }
    }

    /// What is known of the run of a task.
    pub(crate) fn view(&self, id: TaskId) -> Option<RunView> {
        let map = self.lock();
        let run = map.get(&id)?;
        Some(RunView {
            progress: run.progress.view(),
            stop: run.stop.reason(),
            task_type: run.task_type.clone(),
            attempt: run.attempt,
            ran: run.since.elapsed(),
        })
    }

    pub(crate) fn stop_all(&self, reason: StopReason) {
        self.lock().values().for_each(|run| run.stopper.stop(reason));
    }

    pub(crate) fn by_partition(&self) -> HashMap<Partition, Vec<Lease>> {
        let mut leases: HashMap<_, Vec<_>> = HashMap::new();
        for (id, run) in self.lock().iter() {
            leases.entry(run.partition).or_default().push((*id, run.token));
        }
        leases
    }

    /// Waits until nothing runs.
    pub(crate) async fn empty(&self) {
        loop {
            let emptied = self.emptied.notified();
            tokio::pin!(emptied);
            emptied.as_mut().enable();
            if self.lock().is_empty() {
                return;
            }
            emptied.await;
        }
    }
}
