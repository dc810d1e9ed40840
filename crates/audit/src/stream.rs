//! Reads the events of a partition, and says from when on the stream must hold everything.

use domain::{Millis, Partition};
use messaging::{EventsSpan, event_from_wire};
use store::TaskEvent;

use crate::{Audit, Error};

/// Clocks of two hosts drift by less than this while an audit runs.
const DRIFT_MS: Millis = 1_000;
/// Looks at a stream whose server took the look away.
const TRIES: u32 = 3;

/// How far the stream was read, and what that showed of the two clocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading {
    /// The number of the last message that was read.
    pub(crate) last_seq: u64,
    /// How much later, at least, a transition stands in the stream than it happened, by their two clocks.
    lag_ms: Option<Millis>,
    since: Option<Millis>,
}

impl Reading {
    pub(crate) const fn new(since: Option<Millis>) -> Self {
        Self {
            last_seq: 0,
            lag_ms: None,
            since,
        }
    }

    /// Reads on to the end of the stream.
    pub(crate) async fn read(
        &mut self,
        audit: &Audit,
        partition: Partition,
        mut each: impl FnMut(Found),
    ) -> Result<(), Error> {
        let mut tries = 0;
        loop {
            match self.read_once(audit, partition, &mut each).await {
                Err(error) if tries < TRIES => {
                    tries += 1;
                    tracing::debug!(partition, error = %error, "the events are looked at again");
                }
                done => return done,
            }
        }
    }

    async fn read_once(
        &mut self,
        audit: &Audit,
        partition: Partition,
        each: &mut impl FnMut(Found),
    ) -> Result<(), Error> {
        let since = self.since.filter(|_| self.last_seq == 0);
        // By the clock of NATS, which may be another's: a little more does no harm.
        let since = since.map(|since| since - 60_000);
        let mut log = audit.bus.event_log(partition, self.last_seq + 1, since).await?;
        loop {
            let batch = log.next_batch().await?;
            if batch.is_empty() {
                return Ok(());
            }
            for message in batch {
                self.last_seq = message.seq;
                let Some(events) = message.batch else {
                    each(Found::Undecodable(message.seq));
                    continue;
                };
                for entry in events.entries {
                    for event in entry.events {
                        match event_from_wire(event) {
                            Ok(event) => {
                                let lag = message.stored_ms - event.at;
                                self.lag_ms = Some(self.lag_ms.map_or(lag, |known| known.min(lag)));
                                each(Found::Event(Box::new(event)));
                            }
                            Err(_) => each(Found::Undecodable(message.seq)),
                        }
                    }
                }
            }
        }
    }

    /// What happened at or after this instant, by the store's clock, must stand in the stream.
    pub(crate) fn horizon(&self, span: &EventsSpan) -> Millis {
        let begins = match (span.messages, span.first_seq) {
            // Everything that it ever held has left it.
            (0, _) if span.last_seq > 0 => return Millis::MAX,
            (_, 0 | 1) => span.created_ms,
            (_, _) => span.first_ms,
        };
        // An event of the store's instant t is stored at t + lag or later.
        let horizon = begins - self.lag_ms.unwrap_or(0).min(0) + DRIFT_MS;
        horizon.max(self.since.unwrap_or(Millis::MIN))
    }
}

/// What stands in the stream.
#[derive(Debug)]
pub(crate) enum Found {
    Event(Box<TaskEvent>),
    /// A message, by its number, that can't be read.
    Undecodable(u64),
}
