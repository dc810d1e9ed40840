//! Publishes whose acknowledgement is not there yet: a bounded number, and a bounded number of bytes.
//!
//! All share one reply subject with a wildcard, so a publish costs no subscription, no timer and no task of its own.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

use async_nats::{Message, StatusCode, Subject};
use futures::StreamExt;
use serde::Deserialize;
use tokio::sync::{Semaphore, oneshot};

use crate::{Ack, Error, bus::Core, client::Client, counts::count};

/// How often unanswered publishes are looked for.
const SWEEP_EVERY: Duration = Duration::from_millis(250);
/// Bytes are counted in these units, so that a large window fits a semaphore.
const UNIT: usize = 1024;

/// Whom the acknowledgement is for.
pub(crate) enum Waiter {
    /// Nobody: a loss is only counted.
    Hint,
    /// A caller.
    Caller(oneshot::Sender<Result<Ack, Error>>),
}

struct Entry {
    ticket: u64,
    sent: Instant,
    units: usize,
    waiter: Waiter,
}

#[derive(Default)]
struct Slots {
    entries: Vec<Option<Entry>>,
    free: Vec<usize>,
    next_ticket: u64,
}

#[derive(Debug)]
pub(crate) struct Window {
    slots: Mutex<Slots>,
    room: Semaphore,
    room_units: Semaphore,
    size: usize,
    size_units: usize,
    inbox: String,
}

impl std::fmt::Debug for Slots {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} in flight", self.entries.len() - self.free.len())
    }
}

impl Window {
    pub(crate) fn new(client: &Client, messages: usize, bytes: usize) -> Self {
        let size = messages.clamp(1, 4_096);
        let size_units = bytes.div_ceil(UNIT).clamp(1, 1 << 24);
        Self {
            slots: Mutex::default(),
            room: Semaphore::new(size),
            room_units: Semaphore::new(size_units),
            size,
            size_units,
            inbox: client.new_inbox(),
        }
    }

    /// Waits for room for a message of this size, and returns where its acknowledgement has to go.
    pub(crate) async fn enter(&self, bytes: usize, waiter: Waiter) -> Ticket<'_> {
        let units = bytes.div_ceil(UNIT).clamp(1, self.size_units);
        let many = u32::try_from(units).unwrap_or(u32::MAX);
        // The semaphores are never closed.
        if let (Ok(one), Ok(all)) = (
            self.room.acquire().await,
            self.room_units.acquire_many(many).await,
        ) {
            one.forget();
            all.forget();
        }
        let (slot, ticket) = self.locked().put(units, waiter);
        Ticket {
            window: self,
            slot,
            ticket,
            kept: false,
        }
    }

    /// Publishes that wait for their acknowledgement.
    pub(crate) fn in_flight(&self) -> usize {
        self.size - self.room.available_permits()
    }

    /// Waits until nothing is in flight.
    pub(crate) async fn empty(&self) {
        let all = u32::try_from(self.size).unwrap_or(u32::MAX);
        // The permits are given back at once.
        let _ = self.room.acquire_many(all).await;
    }

    fn locked(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, slot: usize, ticket: u64) -> Option<Waiter> {
        let entry = self.locked().take(slot, ticket)?;
        self.room.add_permits(1);
        self.room_units.add_permits(entry.units);
        Some(entry.waiter)
    }

    /// Ends everything in flight: its acknowledgements were lost with the connection.
    pub(crate) fn fail_all(&self, core: &Core) {
        let all = self.locked().sent_before(None);
        for (slot, ticket) in all {
            if let Some(waiter) = self.take(slot, ticket) {
                settle(core, waiter, Err(Error::Interrupted));
            }
        }
    }

    fn expire(&self, core: &Core) {
        let patience = core.config.ack_timeout;
        let Some(before) = Instant::now().checked_sub(patience) else {
            return;
        };
        let late = self.locked().sent_before(Some(before));
        for (slot, ticket) in late {
            if let Some(waiter) = self.take(slot, ticket) {
                settle(core, waiter, Err(Error::Timeout(patience)));
            }
        }
    }
}

impl Slots {
    fn put(&mut self, units: usize, waiter: Waiter) -> (usize, u64) {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        let entry = Some(Entry {
            ticket,
            sent: Instant::now(),
            units,
            waiter,
        });
        let slot = match self.free.pop() {
            Some(slot) => {
                self.entries[slot] = entry;
                slot
            }
            None => {
                self.entries.push(entry);
                self.entries.len() - 1
            }
        };
        (slot, ticket)
    }

    /// The entry, if it is still the one that the ticket was given for.
    fn take(&mut self, slot: usize, ticket: u64) -> Option<Entry> {
        let place = self.entries.get_mut(slot)?;
        if place.as_ref().is_none_or(|entry| entry.ticket != ticket) {
            return None;
        }
        self.free.push(slot);
        place.take()
    }

    fn sent_before(&self, before: Option<Instant>) -> Vec<(usize, u64)> {
        let entries = self.entries.iter().enumerate();
        entries
            .filter_map(|(slot, entry)| Some((slot, entry.as_ref()?)))
            .filter(|(_, entry)| before.is_none_or(|before| entry.sent < before))
            .map(|(slot, entry)| (slot, entry.ticket))
            .collect()
    }
}

/// A place in the window. Dropped before it is kept, it leaves the window.
pub(crate) struct Ticket<'w> {
    window: &'w Window,
    slot: usize,
    ticket: u64,
    kept: bool,
}

impl Ticket<'_> {
    pub(crate) fn reply(&self) -> Subject {
        Subject::from(format!("{}.{}-{}", self.window.inbox, self.slot, self.ticket))
    }

    /// The message is on its way; from here on its acknowledgement frees the place.
    pub(crate) fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        if !self.kept {
            self.window.take(self.slot, self.ticket);
        }
    }
}

/// Hands acknowledgements to those who wait for them, for ever.
pub(crate) async fn settle_acks(core: Arc<Core>) {
    let mut sweep = tokio::time::interval(SWEEP_EVERY);
    sweep.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        let Ok(mut acks) = core.client.subscribe(format!("{}.*", core.window.inbox)).await else {
            // The client is gone, and with it this process's use of NATS.
            return;
        };
        loop {
            tokio::select! {
                // In an order, so that a simulation replays; the rare one first.
                biased;
                _ = sweep.tick() => core.window.expire(&core),
                ack = acks.next() => match ack {
                    Some(ack) => settle_one(&core, &ack),
                    None => break,
                },
            }
        }
    }
}

fn settle_one(core: &Core, ack: &Message) {
    let Some((slot, ticket)) = ticket_of(&ack.subject) else {
        return;
    };
    if let Some(waiter) = core.window.take(slot, ticket) {
        let result = read(ack);
        if matches!(result, Err(Error::NoResponders(_)))
            && let Ok(epoch) = core.link.ready_epoch()
        {
            core.link.stale(epoch);
        }
        settle(core, waiter, result);
    }
}

fn ticket_of(subject: &str) -> Option<(usize, u64)> {
    let (slot, ticket) = subject.rsplit('.').next()?.split_once('-')?;
    Some((slot.parse().ok()?, ticket.parse().ok()?))
}

#[derive(Deserialize)]
struct AckBody {
    #[serde(default)]
    seq: u64,
    #[serde(default)]
    duplicate: bool,
    error: Option<AckError>,
}

#[derive(Deserialize)]
struct AckError {
    #[serde(default)]
    description: String,
}

fn read(ack: &Message) -> Result<Ack, Error> {
    if ack.status == Some(StatusCode::NO_RESPONDERS) {
        return Err(Error::NoResponders("its subject".to_owned()));
    }
    let body: AckBody = serde_json::from_slice(&ack.payload)
        .map_err(|error| Error::client("read an acknowledgement", error))?;
    match body.error {
        Some(error) => Err(Error::Refused(error.description)),
        None => Ok(Ack {
            stream_seq: body.seq,
            duplicate: body.duplicate,
        }),
    }
}

fn settle(core: &Core, waiter: Waiter, result: Result<Ack, Error>) {
    match waiter {
        Waiter::Hint => {
            if let Err(error) = result {
                core.counters.hints_lost.fetch_add(1, Relaxed);
                tracing::debug!(error = error.chain(), "hint lost");
            }
        }
        Waiter::Caller(caller) => {
            let counters = &core.counters;
            count(if result.is_ok() {
                &counters.events_acked
            } else {
                &counters.events_failed
            });
            // Whoever dropped the future does not want to know.
            let _ = caller.send(result);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_acknowledgement_that_comes_late_frees_no_other_publish() {
        let mut slots = Slots::default();
        let (slot, old) = slots.put(1, Waiter::Hint);
        assert!(slots.take(slot, old).is_some());
        let (again, new) = slots.put(1, Waiter::Hint);
        assert_eq!(slot, again);
        assert!(slots.take(slot, old).is_none());
        assert!(slots.take(slot, new).is_some());
        assert!(slots.take(99, 0).is_none());
    }

    #[test]
    fn only_what_was_sent_before_is_late() {
        let mut slots = Slots::default();
        let first = slots.put(1, Waiter::Hint);
        let between = Instant::now() + Duration::from_millis(1);
        assert_eq!(slots.sent_before(Some(between)), [first]);
        assert!(
            slots
                .sent_before(Some(between - Duration::from_secs(9)))
                .is_empty()
        );
        assert_eq!(slots.sent_before(None).len(), 1);
    }

    #[test]
    fn tickets_read_back_from_their_subject() {
        assert_eq!(ticket_of("_INBOX.x.17-4000000000"), Some((17, 4_000_000_000)));
        assert_eq!(ticket_of("_INBOX.x.17"), None);
    }
}
