//! What passed over the bus since the process started.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What passed over the bus since the process started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Hints handed to the client.
    pub hints_sent: u64,
    /// Hints that JetStream did not acknowledge.
    pub hints_lost: u64,
    /// Events and submissions that JetStream acknowledged.
    pub events_acked: u64,
    /// Events and submissions that it did not.
    pub events_failed: u64,
    /// Messages dropped because they could not be decoded.
    pub undecodable: u64,
    /// Hints handed back because nobody waited for them any more.
    pub given_back: u64,
    /// Connections made, the first included.
    pub connects: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) hints_sent: AtomicU64,
    pub(crate) hints_lost: AtomicU64,
    pub(crate) events_acked: AtomicU64,
    pub(crate) events_failed: AtomicU64,
    pub(crate) undecodable: AtomicU64,
    pub(crate) given_back: AtomicU64,
}

impl Counters {
    pub(crate) fn read(&self, connects: u64) -> Counts {
        Counts {
            hints_sent: self.hints_sent.load(Relaxed),
            hints_lost: self.hints_lost.load(Relaxed),
            events_acked: self.events_acked.load(Relaxed),
            events_failed: self.events_failed.load(Relaxed),
            undecodable: self.undecodable.load(Relaxed),
            given_back: self.given_back.load(Relaxed),
            connects,
        }
    }
}

pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Relaxed);
}
