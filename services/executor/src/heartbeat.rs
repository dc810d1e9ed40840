//! Heartbeats, on a thread and a connection of their own: a handler that blocks its thread can't stop them.

use std::sync::Arc;

use domain::{Partition, Stop};
use handler::StopReason;
use runtime::{Backoff, Shutdown};
use store::{Heartbeat, TaskStore};
use tokio::time::Instant;

use crate::{Executor, runs::Lease};

/// Ends the thread when the executor has drained.
pub(crate) struct Heartbeats(Shutdown);

impl Heartbeats {
    pub(crate) fn stop(&self) {
        self.0.trigger();
    }
}

/// Starts the thread.
pub(crate) fn start(executor: &Arc<Executor>) -> Result<Heartbeats, String> {
    let stop = Shutdown::new();
    let (executor, stopped) = (Arc::clone(executor), stop.clone());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("the heartbeats get no runtime: {error}"))?;
    std::thread::Builder::new()
        .name("heartbeat".into())
        .spawn(move || runtime.block_on(stopped.or_stop(beat_for_ever(&executor))))
        .map_err(|error| format!("the heartbeats get no thread: {error}"))?;
    Ok(Heartbeats(stop))
}

/// The same on the runtime of the caller.
#[cfg(feature = "simulation")]
pub(crate) fn beside(executor: &Arc<Executor>) -> Heartbeats {
    let stop = Shutdown::new();
    let (executor, stopped) = (Arc::clone(executor), stop.clone());
    tokio::spawn(async move { stopped.or_stop(beat_for_ever(&executor)).await });
    Heartbeats(stop)
}

async fn beat_for_ever(executor: &Executor) {
    let store = open(executor).await;
    let period = executor.config.lease / 3;
    loop {
        tokio::select! {
            biased;
            () = tokio::time::sleep(period) => {}
            () = executor.runs.nudged.notified() => {}
        }
        let beats = executor.runs.by_partition().into_iter();
        futures::future::join_all(
            beats.map(|(partition, leases)| beat(executor, &*store, partition, leases)),
        )
        .await;
    }
}

async fn open(executor: &Executor) -> Arc<dyn TaskStore> {
    let mut backoff = Backoff::default();
    loop {
        match (executor.parts.open_store)().await {
            Ok(store) => return store,
            Err(_) => tokio::time::sleep(backoff.next_wait()).await,
        }
    }
}

async fn beat(executor: &Executor, store: &dyn TaskStore, partition: Partition, leases: Vec<Lease>) {
    for part in leases.chunks(store::BATCH_MAX) {
        let call = |nonce| store.heartbeat(partition, nonce, executor.lease_ms(), part);
        let asked = Instant::now();
        match store::playing::answered(executor.config.lease, call).await {
            Ok(beats) => part
                .iter()
                .zip(beats)
                .for_each(|(lease, beat)| obey(executor, *lease, beat, executor.term(asked))),
            Err(error) => tracing::debug!(%error, "a heartbeat got no answer"),
        }
    }
}

/// What the store said of a run; a renewed lease certainly lasts `until`.
fn obey(executor: &Executor, lease: Lease, beat: Heartbeat, until: Instant) {
    if matches!(beat, Heartbeat::Renewed | Heartbeat::Stop(_)) {
        executor.runs.extend(lease, until);
    }
    match beat {
        Heartbeat::Renewed => {}
        Heartbeat::Stop(Stop::Cancel) => executor.runs.stop(lease, StopReason::Cancelled),
        Heartbeat::Stop(Stop::Reset) => executor.runs.stop(lease, StopReason::Reset),
        // The end of the run may have been told a moment ago; then it is no longer among the runs.
        Heartbeat::Lost(_) => executor.runs.stop(lease, StopReason::LeaseLost),
    }
}

/// Listens for people who want a run to stop, so that they need not wait for the next heartbeat.
pub(crate) async fn nudges(executor: Arc<Executor>, shutdown: Shutdown) {
    shutdown.or_stop(listen(&executor)).await;
}

async fn listen(executor: &Executor) {
    let mut backoff = Backoff::default();
    loop {
        let Ok(mut nudges) = executor.parts.bus.stop_nudges(&executor.config.id).await else {
            tokio::time::sleep(backoff.next_wait()).await;
            continue;
        };
        while nudges.next().await.is_some() {
            executor.runs.nudged.notify_one();
        }
    }
}
