//! The loop that joins what waits and publishes it, with many acknowledgements outstanding.

use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use domain::Partition;
use futures::{StreamExt, future::BoxFuture, stream::FuturesUnordered};
use tokio::sync::mpsc;

use super::{
    Queued,
    parcel::{Parcel, pack},
    place::{Place, Room},
    remove::Acked,
};
use crate::{Error, Publisher, publish::Acked as PubAck};

/// Entries taken from the queue at once.
const GATHER_MAX: usize = 512;
/// How long entries wait for company. Nobody waits for an event, and a message costs more than what is in it.
const GATHER: Duration = Duration::from_millis(3);
/// Parcels whose acknowledgements are outstanding.
const OUTSTANDING_MAX: usize = 256;

type Sent = BoxFuture<'static, Result<Acked, Error>>;

/// Publishes until the last announcer is gone and all is acknowledged.
pub(super) async fn publish_all(
    publisher: Publisher,
    mut waiting: mpsc::Receiver<Queued>,
    acked: mpsc::Sender<Acked>,
    room: Arc<Room>,
) {
    let mut outstanding: FuturesUnordered<Sent> = FuturesUnordered::new();
    let mut open = true;
    let mut queued = Vec::new();
    while open || !outstanding.is_empty() {
        tokio::select! {
            // In an order, so that a simulation replays; what is outstanding is bounded, so that it holds nothing up.
            biased;
            Some(sent) = outstanding.next() => {
                // It fails only where the loop that removes is gone, at the end of the runtime.
                if let Ok(done) = sent { let _ = acked.send(done).await; }
            }
            taken = waiting.recv_many(&mut queued, GATHER_MAX), if open && outstanding.len() < OUTSTANDING_MAX => {
                open = taken > 0;
                if open && taken < GATHER_MAX {
                    tokio::time::sleep(GATHER).await;
                    while queued.len() < GATHER_MAX && let Ok(more) = waiting.try_recv() {
                        queued.push(more);
                    }
                }
                for (parcel, places) in join(std::mem::take(&mut queued)) {
                    let sent = send(&publisher, parcel, places, &room).await;
                    outstanding.push(sent);
                }
            }
        }
    }
}

/// Parcels by partition, each with the places of its entries.
fn join(queued: Vec<Queued>) -> Vec<(Parcel, Vec<Place>)> {
    let mut by_partition: BTreeMap<Partition, (Vec<proto::EventEntry>, Vec<Place>)> = BTreeMap::new();
    for Queued {
        partition,
        entry,
        place,
    } in queued
    {
        let (entries, places) = by_partition.entry(partition).or_default();
        entries.push(entry);
        places.push(place);
    }
    let mut joined = Vec::new();
    for (partition, (entries, places)) in by_partition {
        let mut places = places.into_iter();
        for parcel in pack(partition, entries) {
            let own = places.by_ref().take(parcel.ids.len()).collect();
            joined.push((parcel, own));
        }
    }
    joined
}

/// Hands a parcel to the publisher; the future ends when it is acknowledged.
async fn send(publisher: &Publisher, parcel: Parcel, places: Vec<Place>, room: &Arc<Room>) -> Sent {
    let entries = parcel.ids.len() as u64;
    let room = Arc::clone(room);
    let handed = hand_over(publisher, &parcel).await;
    Box::pin(async move {
        let acknowledged = match handed {
            Ok(acks) => settled(acks).await,
            Err(error) => Err(error),
        };
        match acknowledged {
            Ok(()) => Ok(Acked {
                partition: parcel.partition,
                ids: parcel.ids,
                places,
            }),
            Err(error) => {
                room.unpublished.fetch_add(entries, Relaxed);
                tracing::debug!(
                    error = error.chain(),
                    entries,
                    "events stay in the outbox for now"
                );
                Err(error)
            }
        }
    })
}

/// Gives all messages of a parcel to the client.
pub(super) async fn hand_over(publisher: &Publisher, parcel: &Parcel) -> Result<Vec<PubAck>, Error> {
    let mut acks = Vec::with_capacity(parcel.messages.len());
    for letter in &parcel.messages {
        acks.push(
            publisher
                .publish_event(parcel.partition, &letter.id, letter.body.clone())
                .await?,
        );
    }
    Ok(acks)
}

/// Waits until the stream has all of them.
pub(super) async fn settled(acks: Vec<PubAck>) -> Result<(), Error> {
    for ack in acks {
        ack.await?;
    }
    Ok(())
}
