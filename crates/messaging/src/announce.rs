//! Carries what a verb did from the store to the events stream, after its caller went on (DESIGN section 5, Outbox).
//!
//! An entry stays in the store's outbox until JetStream acknowledged it, so that whatever is dropped here is only
//! late: the scheduler's sweep publishes it again.

mod observe;
mod parcel;
mod place;
mod publish;
mod remove;
mod republish;

use std::{sync::Arc, time::Duration};

use domain::Partition;
use proto::Message;
use store::{NewTask, OutboxEntry, TaskStore};
use telemetry::Metrics;
use tokio::sync::mpsc;

pub use place::AnnounceCounts;
use place::{Place, Room};

use crate::{Publisher, event_wire::entry_to_wire};

/// Entries that may wait for the stream or for their removal.
const ENTRIES_MAX: usize = 8_192;
/// What they may weigh, in bytes.
const BYTES_MAX: usize = 64 << 20;

/// Shows, publishes and removes outbox entries. Clones share one queue; it is worked off after the last is dropped.
#[derive(Clone)]
pub struct Announcer {
    queue: mpsc::Sender<Queued>,
    room: Arc<Room>,
    publisher: Publisher,
    metrics: Metrics,
    node: Arc<str>,
}

/// An entry on its way.
struct Queued {
    partition: Partition,
    entry: proto::EventEntry,
    place: Place,
}

impl std::fmt::Debug for Announcer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Announcer")
            .field("node", &self.node)
            .field("counts", &self.counts())
            .finish_non_exhaustive()
    }
}

impl Announcer {
    /// Starts the loops that publish and remove. `node` stands in log lines whose event names none.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    #[must_use]
    pub fn new(
        store: Arc<dyn TaskStore>,
        publisher: Publisher,
        metrics: Metrics,
        node: impl Into<Arc<str>>,
    ) -> Self {
        let room = Arc::new(Room::new(ENTRIES_MAX, BYTES_MAX));
        let (queue, waiting) = mpsc::channel(ENTRIES_MAX);
        let (acked, to_remove) = mpsc::channel(ENTRIES_MAX);
        tokio::spawn(publish::publish_all(
            publisher.clone(),
            waiting,
            acked,
            Arc::clone(&room),
        ));
        tokio::spawn(remove::remove_all(store, to_remove, Arc::clone(&room)));
        Self {
            queue,
            room,
            publisher,
            metrics,
            node: node.into(),
        }
    }

    /// Shows the transitions of a reply in log, metrics and traces, and hands them over to be published. Never waits:
    /// where too much waits already, the entry is left to the sweep.
    pub fn announce(&self, entry: Option<OutboxEntry>) {
        let Some(entry) = entry else { return };
        observe::observe(&entry.events, &self.node, &self.metrics, |_| None);
        self.hand_over(entry);
    }

    /// As [`Announcer::announce`], for what came of admitting `tasks`: their traces link to their callers' own.
    pub fn announce_admitted(&self, entry: Option<OutboxEntry>, tasks: &[NewTask]) {
        let Some(entry) = entry else { return };
        let link = |id| {
            let task = tasks.iter().find(|task| task.id == id)?;
            telemetry::parse_traceparent(&task.trace_link).ok()
        };
        observe::observe(&entry.events, &self.node, &self.metrics, link);
        self.hand_over(entry);
    }

    fn hand_over(&self, entry: OutboxEntry) {
        let partition = entry.partition;
        let entry = entry_to_wire(entry);
        let Some(place) = self.room.take(entry.encoded_len()) else {
            return;
        };
        // It fails only where the runtime ends, and the loops with it.
        let _ = self.queue.try_send(Queued {
            partition,
            entry,
            place,
        });
    }

    /// Waits until nothing is on its way any more, at most `grace`; whether that is so.
    pub async fn flush(&self, grace: Duration) -> bool {
        tokio::time::timeout(grace, self.room.empty()).await.is_ok()
    }

    /// What happened to the entries so far.
    #[must_use]
    pub fn counts(&self) -> AnnounceCounts {
        self.room.counts()
    }
}
