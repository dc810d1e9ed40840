//! The bound on what is on its way, and what became of it.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use tokio::sync::watch;

/// What happened to outbox entries since the process started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AnnounceCounts {
    /// Published, acknowledged and removed from the outbox.
    pub removed: u64,
    /// Left in the outbox because too many were on their way.
    pub dropped: u64,
    /// Left in the outbox because the stream did not acknowledge them.
    pub unpublished: u64,
    /// Published, but left in the outbox because the store did not remove them.
    pub unremoved: u64,
    /// On their way now.
    pub waiting: u64,
}

/// Room for entries on their way, by count and by bytes.
#[derive(Debug)]
pub(super) struct Room {
    held: watch::Sender<Held>,
    entries_max: usize,
    bytes_max: usize,
    dropped: AtomicU64,
    pub(super) removed: AtomicU64,
    pub(super) unpublished: AtomicU64,
    pub(super) unremoved: AtomicU64,
}

#[derive(Debug, Default, Clone, Copy)]
struct Held {
    entries: usize,
    bytes: usize,
}

/// The place of one entry; free again when dropped.
#[derive(Debug)]
pub(super) struct Place {
    room: Arc<Room>,
    bytes: usize,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.room.held.send_modify(|held| {
            held.entries -= 1;
            held.bytes -= self.bytes;
        });
    }
}

impl Room {
    pub(super) fn new(entries_max: usize, bytes_max: usize) -> Self {
        Self {
            held: watch::Sender::default(),
            entries_max,
            bytes_max,
            dropped: AtomicU64::default(),
            removed: AtomicU64::default(),
            unpublished: AtomicU64::default(),
            unremoved: AtomicU64::default(),
        }
    }

    /// A place, unless there is none; counted.
    pub(super) fn take(self: &Arc<Self>, bytes: usize) -> Option<Place> {
        let taken = self.held.send_if_modified(|held| {
            let fits = held.entries < self.entries_max && held.bytes + bytes <= self.bytes_max;
            if fits {
                held.entries += 1;
                held.bytes += bytes;
            }
            fits
        });
        if !taken && self.dropped.fetch_add(1, Relaxed) == 0 {
            tracing::warn!("events wait in the outbox, too many are on their way");
        }
        taken.then(|| Place {
            room: Arc::clone(self),
            bytes,
        })
    }

    pub(super) async fn empty(&self) {
        // It fails only where the sender is gone, and we hold it.
        let _ = self.held.subscribe().wait_for(|held| held.entries == 0).await;
    }

    pub(super) fn counts(&self) -> AnnounceCounts {
        AnnounceCounts {
            removed: self.removed.load(Relaxed),
            dropped: self.dropped.load(Relaxed),
            unpublished: self.unpublished.load(Relaxed),
            unremoved: self.unremoved.load(Relaxed),
            waiting: self.held.borrow().entries as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn room_is_bounded_by_count_and_bytes_and_comes_back() {
        let room = Arc::new(Room::new(2, 100));
        let first = room.take(60).unwrap();
        assert!(room.take(41).is_none());
        let second = room.take(40).unwrap();
        assert!(room.take(0).is_none());
        assert_eq!((room.counts().dropped, room.counts().waiting), (2, 2));
        let empty = tokio::spawn({
            let room = Arc::clone(&room);
            async move { room.empty().await }
        });
        drop(first);
        assert!(room.take(61).is_none());
        drop(second);
        empty.await.unwrap();
        assert!(room.take(100).is_some());
    }
}
