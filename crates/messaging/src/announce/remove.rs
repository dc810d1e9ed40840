//! The loop that takes acknowledged entries out of the store's outbox.

use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use domain::Partition;
use futures::{StreamExt, stream};
use store::{Error, TaskStore};
use tokio::sync::mpsc;

use super::place::{Place, Room};

/// Entries of one call to the store.
pub(super) const REMOVE_MAX: usize = 256;
/// Parcels taken at once.
const GATHER_MAX: usize = 256;
/// How long acknowledged entries wait for others of their partition, so that a busy store is called less.
const GATHER: Duration = Duration::from_millis(20);
/// Calls at a time.
const CALLS: usize = 4;
/// Limit of one call.
pub(super) const CALL_TIMEOUT: Duration = Duration::from_secs(5);

/// Entries that the stream has.
#[derive(Debug)]
pub(super) struct Acked {
    pub(super) partition: Partition,
    pub(super) ids: Vec<String>,
    pub(super) places: Vec<Place>,
}

/// Removes until the loop that publishes is gone.
pub(super) async fn remove_all(store: Arc<dyn TaskStore>, mut acked: mpsc::Receiver<Acked>, room: Arc<Room>) {
    let mut gathered = Vec::new();
    let mut failing = false;
    while acked.recv_many(&mut gathered, GATHER_MAX).await > 0 {
        tokio::time::sleep(GATHER).await;
        while gathered.len() < GATHER_MAX
            && let Ok(more) = acked.try_recv()
        {
            gathered.push(more);
        }
        let (calls, places) = calls(std::mem::take(&mut gathered));
        let mut results = stream::iter(calls)
            .map(|(partition, ids)| remove(&*store, &room, partition, ids))
            .buffer_unordered(CALLS);
        while let Some(result) = results.next().await {
            log_change(&mut failing, result);
        }
        drop(places);
    }
}

/// One line when removals begin to fail, one when they work again. That the store is away is a line of whoever
/// depends on it; the sweep takes out what it was not asked to.
fn log_change(failing: &mut bool, result: Result<(), Error>) {
    match (result, *failing) {
        (Err(error), _) if error.is_passing() => {
            tracing::debug!(%error, "published events stay in the outbox");
            return;
        }
        (Err(error), false) => tracing::warn!(%error, "published events stay in the outbox"),
        (Ok(()), true) => tracing::info!("published events leave the outbox again"),
        (Ok(()), false) | (Err(_), true) => return,
    }
    *failing = !*failing;
}

/// Calls of bounded size, by partition.
fn calls(acked: Vec<Acked>) -> (Vec<(Partition, Vec<String>)>, Vec<Place>) {
    let mut places = Vec::new();
    let mut by_partition: BTreeMap<Partition, Vec<String>> = BTreeMap::new();
    for parcel in acked {
        by_partition
            .entry(parcel.partition)
            .or_default()
            .extend(parcel.ids);
        places.extend(parcel.places);
    }
    let mut calls = Vec::new();
    for (partition, ids) in by_partition {
        calls.extend(ids.chunks(REMOVE_MAX).map(|chunk| (partition, chunk.to_vec())));
    }
    (calls, places)
}

async fn remove(
    store: &dyn TaskStore,
    room: &Room,
    partition: Partition,
    ids: Vec<String>,
) -> Result<(), Error> {
    let entries = ids.len() as u64;
    let answer = tokio::time::timeout(CALL_TIMEOUT, store.outbox_remove(partition, &ids)).await;
    let result = answer.unwrap_or_else(|late| Err(Error::Unavailable(late.into())));
    let counter = if result.is_ok() {
        &room.removed
    } else {
        &room.unremoved
    };
    counter.fetch_add(entries, Relaxed);
    result
}
