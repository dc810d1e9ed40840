//! Starts and ends the readers of partitions as leases come and go.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use domain::Partition;
use runtime::{Backoff, Shutdown};
use tokio::task::JoinHandle;

use crate::{
    Recorder,
    error::{Error, chain},
    read::read,
    shares::Shares,
};

/// Renews leases and runs a reader for each, until the shutdown.
pub(crate) async fn share(recorder: Arc<Recorder>) {
    let store = Arc::clone(&recorder.parts.store);
    let mut shares = Shares::new(&recorder.config.node, recorder.config.lease, store.partitions());
    let mut readers = Readers::new(Arc::clone(&recorder));
    let mut backoff = Backoff::default();
    let mut failing = false;
    loop {
        let wait = match round(&recorder, &mut shares, &mut readers).await {
            Ok(()) => {
                failing = false;
                backoff.reset();
                jittered(recorder.config.lease / 4)
            }
            Err(error) => {
                if !error.is_passing() && !failing {
                    failing = true;
                    tracing::error!(error = chain(&error), "partitions can't be shared");
                }
                backoff.next_wait()
            }
        };
        if recorder
            .shutdown
            .or_stop(tokio::time::sleep(wait))
            .await
            .is_none()
        {
            break;
        }
    }
    readers.stop_all().await;
    if let Err(error) = shares.leave(&*store).await {
        tracing::debug!(error = chain(&error), "leases are left to end by themselves");
    }
}

async fn round(recorder: &Recorder, shares: &mut Shares, readers: &mut Readers) -> Result<(), Error> {
    let store = &*recorder.parts.store;
    let now = shares.renew(store).await?;
    let lost = readers
        .running()
        .filter(|partition| !now.held.contains(partition))
        .collect::<Vec<_>>();
    for partition in lost {
        readers.stop(partition).await;
    }
    for partition in now.surplus.iter().copied() {
        readers.stop(partition).await;
        shares.let_go(store, partition).await?;
    }
    for partition in now.held.difference(&now.surplus) {
        readers.start(*partition);
    }
    Ok(())
}

/// The readers that run.
struct Readers {
    recorder: Arc<Recorder>,
    running: BTreeMap<Partition, (Shutdown, JoinHandle<()>)>,
}

impl Drop for Readers {
    fn drop(&mut self) {
        for (_, reader) in self.running.values() {
            reader.abort();
        }
    }
}

impl Readers {
    const fn new(recorder: Arc<Recorder>) -> Self {
        Self {
            recorder,
            running: BTreeMap::new(),
        }
    }

    fn running(&self) -> impl Iterator<Item = Partition> + '_ {
        self.running.keys().copied()
    }

    /// Starts the reader of a partition, unless it runs.
    fn start(&mut self, partition: Partition) {
        if self
            .running
            .get(&partition)
            .is_some_and(|(_, reader)| !reader.is_finished())
        {
            return;
        }
        tracing::debug!(partition, "records a partition");
        let stop = Shutdown::new();
        let reader = tokio::spawn(read(Arc::clone(&self.recorder), partition, stop.clone()));
        self.running.insert(partition, (stop, reader));
    }

    /// Ends it, after the page that it is writing.
    async fn stop(&mut self, partition: Partition) {
        if let Some((stop, reader)) = self.running.remove(&partition) {
            tracing::debug!(partition, "leaves a partition");
            stop.trigger();
            log_panic(partition, reader).await;
        }
    }

    async fn stop_all(&mut self) {
        for (stop, _) in self.running.values() {
            stop.trigger();
        }
        while let Some((partition, (_, reader))) = self.running.pop_first() {
            log_panic(partition, reader).await;
        }
    }
}

async fn log_panic(partition: Partition, reader: JoinHandle<()>) {
    if let Err(error) = reader.await {
        tracing::error!(partition, %error, "the reader of a partition failed");
    }
}

/// Between 0.8 and 1.2 of the interval, so that replicas don't walk in step.
fn jittered(every: Duration) -> Duration {
    let mut random = [0];
    // Without randomness the waits are merely alike.
    let _ = getrandom::fill(&mut random);
    every.mul_f64(0.8 + 0.4 * f64::from(random[0]) / 255.0)
}
