//! The events of one partition, in the order of their stream.

use std::sync::Arc;

use domain::Partition;
use proto::{EventBatch, Message};

use crate::{Bus, Delivery, Error, consumer::Consumer, counts::count, delivery::Answer, feed::Feed};

/// Messages asked for at a time; each holds up to 512 KiB.
const BATCH: usize = 16;

/// How far a reader came.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Position {
    /// When the stream was created, in milliseconds since the epoch. Numbers of another stream mean nothing.
    pub stream_created_ms: i64,
    /// The last message that was read; 0 before the first.
    pub stream_seq: u64,
}

/// Reads the events of one partition in order, without a hole and without a repeat, from a position on.
///
/// One reader at a time: a second one of the same partition takes the consumer away from the first, which then
/// takes it back. The lease of the partition has to prevent that.
#[derive(Debug)]
pub struct EventPuller {
    bus: Bus,
    feed: Feed,
    restarts: u64,
    next_consumer_seq: u64,
}

impl Bus {
    /// Reads the events of a partition after `position`. If the stream was created anew since, from its start.
    #[must_use]
    pub fn events(&self, partition: Partition, position: Position) -> EventPuller {
        let consumer = Arc::new(Consumer::recorder(partition, position));
        EventPuller {
            bus: self.clone(),
            feed: Feed::new(self.clone(), consumer, BATCH),
            restarts: 0,
            next_consumer_seq: 1,
        }
    }
}

impl EventPuller {
    /// Waits for one message, then takes what is here already, up to `max`; goes on through every outage.
    /// May be empty, if nothing could be decoded. Safe to drop.
    pub async fn next_batch(&mut self, max: usize) -> Vec<EventMessage> {
        let mut batch = Vec::new();
        if max == 0 {
            return batch;
        }
        let first = self.feed.next().await;
        batch.extend(self.accept(first));
        while batch.len() < max {
            match self.feed.try_next() {
                Some(delivery) => batch.extend(self.accept(delivery)),
                None => break,
            }
        }
        batch
    }

    /// Where the reader stands: after the last message that it gave.
    #[must_use]
    pub fn position(&self) -> Position {
        self.feed.consumer.position()
    }

    fn accept(&mut self, delivery: Delivery) -> Option<EventMessage> {
        if self.restarts != self.feed.restarts {
            self.restarts = self.feed.restarts;
            self.next_consumer_seq = 1;
        }
        let place = delivery.place()?;
        if place.consumer_seq != self.next_consumer_seq {
            // Something between was lost on its way, with a connection or a full subscription.
            self.feed.restart();
            return None;
        }
        self.next_consumer_seq += 1;
        let before = self.position();
        if place.stream_seq <= before.stream_seq {
            return None;
        }
        let position = Position {
            stream_seq: place.stream_seq,
            ..before
        };
        self.feed.consumer.advance(position);
        match EventBatch::decode(delivery.payload.clone()) {
            Ok(batch) => Some(EventMessage {
                position,
                batch,
                behind: place.pending,
                delivery,
            }),
            Err(error) => {
                count(&self.bus.core.counters.undecodable);
                tracing::error!(%error, seq = place.stream_seq, "events dropped, they cannot be decoded");
                None
            }
        }
    }
}

/// Events of one partition.
#[derive(Debug)]
pub struct EventMessage {
    /// Where it stands, to be stored with what is made of it.
    pub position: Position,
    /// The events.
    pub batch: EventBatch,
    /// Messages of the partition that come after it.
    pub behind: u64,
    delivery: Delivery,
}

impl EventMessage {
    /// This and all before it were recorded. Does not wait for the server; only its lag is told by it.
    ///
    /// # Errors
    /// The client is gone.
    pub async fn ack(&self) -> Result<(), Error> {
        self.delivery.answer(Answer::Ack).await
    }
}
