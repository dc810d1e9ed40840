//! The events of one partition, in the order of their stream.

use std::sync::Arc;

use domain::Partition;
use proto::{EventBatch, Message};

use crate::{
    Bus, Delivery, Error,
    consumer::Consumer,
    counts::count,
    delivery::{Answer, Place},
    feed::Feed,
};

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
        let (place, before) = (delivery.place()?, self.position());
        match judge(place, self.next_consumer_seq, before.stream_seq) {
            Judgement::Gap => {
                self.feed.restart();
                return None;
            }
            Judgement::Repeat => {
                self.next_consumer_seq += 1;
                return None;
            }
            Judgement::Next => self.next_consumer_seq += 1,
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

/// What a delivery is to a reader that has to miss nothing.
#[derive(Debug, PartialEq, Eq)]
enum Judgement {
    Next,
    /// Read before; the wait for its ack was over.
    Repeat,
    /// Something between was lost on its way, with a connection or a full subscription.
    Gap,
}

const fn judge(place: Place, next_consumer_seq: u64, last_stream_seq: u64) -> Judgement {
    if place.consumer_seq != next_consumer_seq {
        Judgement::Gap
    } else if place.stream_seq <= last_stream_seq {
        Judgement::Repeat
    } else {
        Judgement::Next
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hole_in_the_consumers_numbers_is_a_gap_and_one_in_the_streams_is_not() {
        let place = |consumer_seq, stream_seq| Place {
            delivered: 1,
            stream_seq,
            consumer_seq,
            stored_ms: 0,
            pending: 0,
        };
        assert_eq!(judge(place(4, 90), 4, 50), Judgement::Next);
        assert_eq!(judge(place(5, 51), 4, 50), Judgement::Gap);
        assert_eq!(judge(place(3, 51), 4, 50), Judgement::Gap);
        assert_eq!(judge(place(4, 50), 4, 50), Judgement::Repeat);
    }
}
