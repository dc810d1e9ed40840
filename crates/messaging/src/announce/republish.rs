//! Publishes again what stayed behind or what a lost stream took along. Its caller waits for it.

use std::collections::BTreeMap;

use domain::Partition;
use store::{OutboxEntry, TaskEvent};

use super::{
    Announcer,
    parcel::{Parcel, pack},
    publish::{hand_over, settled},
};
use crate::{
    Error,
    event_wire::{entry_to_wire, event_to_wire},
};

/// Events of one entry made here; far below what a message holds.
const EVENTS_MAX: usize = 256;

impl Announcer {
    /// Publishes entries that stayed in the outbox, without showing them a second time. Returns the ids that the
    /// stream has, by partition, for the caller to remove.
    ///
    /// # Errors
    /// The stream took none of them.
    pub async fn republish(
        &self,
        entries: Vec<OutboxEntry>,
    ) -> Result<BTreeMap<Partition, Vec<String>>, Error> {
        let mut by_partition: BTreeMap<Partition, Vec<proto::EventEntry>> = BTreeMap::new();
        for entry in entries {
            by_partition
                .entry(entry.partition)
                .or_default()
                .push(entry_to_wire(entry));
        }
        let parcels = by_partition
            .into_iter()
            .flat_map(|(partition, entries)| pack(partition, entries));
        let (mut taken, mut failed) = (BTreeMap::<Partition, Vec<String>>::new(), None);
        for parcel in parcels {
            match self.publish_now(&parcel).await {
                Ok(()) => taken.entry(parcel.partition).or_default().extend(parcel.ids),
                Err(error) => failed = Some(error),
            }
        }
        match failed {
            Some(error) if taken.is_empty() => Err(error),
            _ => Ok(taken),
        }
    }

    /// Publishes events that the stream once had, or should have had. They stand in no outbox.
    ///
    /// # Errors
    /// The stream did not take all of them; to call again is right, for readers drop repeats.
    pub async fn announce_again(&self, partition: Partition, events: Vec<TaskEvent>) -> Result<(), Error> {
        let mut events = events.into_iter().map(event_to_wire).peekable();
        let mut entries = Vec::new();
        while events.peek().is_some() {
            let events = events.by_ref().take(EVENTS_MAX).collect();
            entries.push(proto::EventEntry {
                outbox_id: String::new(),
                events,
                refused: Vec::new(),
            });
        }
        for parcel in pack(partition, entries) {
            self.publish_now(&parcel).await?;
        }
        Ok(())
    }

    async fn publish_now(&self, parcel: &Parcel) -> Result<(), Error> {
        settled(hand_over(&self.publisher, parcel).await?).await
    }
}
