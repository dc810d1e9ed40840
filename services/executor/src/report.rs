//! Tells dispatchers and gateways how many slots are free.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use proto::SlotReport;
use runtime::Shutdown;
use tokio::sync::Notify;

use crate::Executor;

/// How soon a change is told.
const SOON: Duration = Duration::from_millis(5);
/// How often it is told that nothing changed; a report lives three seconds.
const SELDOM: Duration = Duration::from_secs(1);

/// What the executor did since it started.
#[derive(Default)]
pub(crate) struct Counts {
    taken: AtomicU64,
    completed: AtomicU64,
    changed: Notify,
}

impl Counts {
    /// Hints were taken off, claimed or refused.
    pub(crate) fn take(&self, tasks: usize) {
        self.taken.fetch_add(tasks as u64, Ordering::Relaxed);
        self.changed.notify_one();
    }

    /// Runs ended and were told.
    pub(crate) fn complete(&self, tasks: usize) {
        self.completed.fetch_add(tasks as u64, Ordering::Relaxed);
        self.changed.notify_one();
    }
}

pub(crate) async fn run(executor: Arc<Executor>, shutdown: Shutdown) {
    shutdown.or_stop(report_for_ever(&executor)).await;
    // Nobody shall count on these slots any more.
    send(&executor, 0).await;
}

async fn report_for_ever(executor: &Executor) {
    loop {
        let free = u32::try_from(executor.slots.available_permits()).unwrap_or(u32::MAX);
        send(executor, free).await;
        let busy = executor.config.concurrency.saturating_sub(free);
        let pool = &executor.config.pool;
        executor.parts.metrics.set_slots(pool, "free", free.into());
        executor.parts.metrics.set_slots(pool, "busy", busy.into());
        tokio::time::sleep(SOON).await;
        let _ = tokio::time::timeout(SELDOM, executor.counts.changed.notified()).await;
    }
}

async fn send(executor: &Executor, free: u32) {
    let report = SlotReport {
        executor_id: executor.config.id.clone(),
        pool: executor.config.pool.clone(),
        slots: executor.config.concurrency,
        free,
        taken_total: executor.counts.taken.load(Ordering::Relaxed),
        completed_total: executor.counts.completed.load(Ordering::Relaxed),
        sent_at_ms: runtime::clock::now_ms(),
    };
    if let Err(error) = executor.parts.bus.report_slots(&report).await {
        tracing::debug!(%error, "free slots could not be told");
    }
}
