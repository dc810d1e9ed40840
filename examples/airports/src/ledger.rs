//! What the endpoint saw, written down before it answers.

use std::sync::{Arc, Mutex, PoisonError};

use crate::fate::Fate;

/// More calls than this are only counted.
const CALLS: usize = 1_000_000;

/// One call that arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    /// From the header `Idempotency-Key`.
    pub(crate) task_id: String,
    /// From the header `Gengfu-Attempt`.
    pub(crate) attempt: u32,
    /// The row's `iata`, from the payload.
    pub(crate) row: String,
    /// How it was answered.
    pub(crate) fate: Fate,
}

/// The endpoint's own book of calls; clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ledger {
    pages: Arc<Mutex<Pages>>,
}

#[derive(Debug, Default)]
struct Pages {
    calls: Vec<Call>,
    malformed: usize,
    beyond: usize,
}

impl Ledger {
    /// Writes a call down.
    pub(crate) fn record(&self, call: Call) {
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        if pages.calls.len() < CALLS {
            pages.calls.push(call);
        } else {
            pages.beyond += 1;
        }
    }

    /// Counts a call that named no task, attempt or row.
    pub(crate) fn record_malformed(&self) {
        self.pages
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .malformed += 1;
    }

    /// Every call so far.
    pub(crate) fn calls(&self) -> Vec<Call> {
        self.pages
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .calls
            .clone()
    }

    /// Calls that stand in no line: they named no task, or came after the book was full.
    pub(crate) fn unexplained(&self) -> usize {
        let pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        pages.malformed + pages.beyond
    }
}
