//! Submissions that wait in their stream to be admitted.

use std::sync::Arc;

use bytes::Bytes;
use domain::Tier;
use proto::{Message, Submission};

use crate::{
    Bus, Delivery, Error,
    consumer::Consumer,
    delivery::{Answer, Place},
    feed::Feed,
    publish::{MSG_ID, TRACEPARENT},
    streams,
    tiers::TierFeeds,
};

/// Messages asked for at a time in each tier.
const BATCH: usize = 64;

/// Takes submissions off JetStream; dispatchers share them.
#[derive(Debug)]
pub struct SubmitPuller {
    bus: Bus,
    feeds: TierFeeds,
}

impl Bus {
    /// Takes submissions off JetStream.
    #[must_use]
    pub fn submissions(&self) -> SubmitPuller {
        let feeds = TierFeeds::new(|tier| Feed::new(self.clone(), Arc::new(Consumer::submit(tier)), BATCH));
        SubmitPuller {
            bus: self.clone(),
            feeds,
        }
    }
}

impl SubmitPuller {
    /// Waits for one submission, then takes what is here already, up to `max`; goes on through every outage.
    /// Safe to drop.
    pub async fn next_batch(&mut self, max: usize) -> Vec<SubmitMessage> {
        let batch = self.feeds.next_batch(max).await;
        batch
            .into_iter()
            .map(|(tier, delivery)| SubmitMessage::read(tier, delivery))
            .collect()
    }

    /// Hands back what was asked for and is not used, so that another dispatcher gets it at once.
    pub async fn close(mut self) {
        self.feeds.give_back_now(&self.bus.core.counters.given_back).await;
    }
}

/// One message on a submission's subject.
#[derive(Debug)]
pub struct SubmitMessage {
    /// The tier of its subject.
    pub tier: Tier,
    /// The submission, if it is one.
    pub submission: Result<Submission, Error>,
    /// The message's bytes, for the digest of what is refused.
    pub raw: Bytes,
    /// `Nats-Msg-Id`, if the sender gave one.
    pub msg_id: Option<String>,
    /// The sender's own trace context, if it gave one.
    pub traceparent: Option<String>,
    place: Option<Place>,
    delivery: Delivery,
}

impl SubmitMessage {
    fn read(tier: Tier, delivery: Delivery) -> Self {
        Self {
            tier,
            submission: Submission::decode(delivery.payload.clone()).map_err(Error::from),
            raw: delivery.payload.clone(),
            msg_id: delivery.header(MSG_ID),
            traceparent: delivery.header(TRACEPARENT),
            place: delivery.place(),
            delivery,
        }
    }

    /// The idempotency key: the sender's, else its `Nats-Msg-Id`, else the message's stream, sequence and time.
    #[must_use]
    pub fn key(&self) -> String {
        let given = self.submission.as_ref().ok().map(|s| s.idempotency_key.as_str());
        match (given.filter(|key| !key.is_empty()), &self.msg_id) {
            (Some(key), _) => key.to_owned(),
            (None, Some(id)) if !id.is_empty() => id.clone(),
            _ => self.source(),
        }
    }

    /// Where it came from: stream, sequence, and the time at which the stream took it.
    #[must_use]
    pub fn source(&self) -> String {
        let place = self.place.map_or_else(
            // Without its place in the stream, the reply subject still tells it from others.
            || self.delivery.reply.to_string(),
            |place| format!("{}/{}", place.stream_seq, place.stored_ms),
        );
        format!("{}/{place}", streams::SUBMIT)
    }

    /// When the stream took it, in milliseconds since the epoch, by the server's clock.
    #[must_use]
    pub fn stored_ms(&self) -> Option<i64> {
        self.place.map(|place| place.stored_ms)
    }

    /// How often it was delivered, from 1.
    #[must_use]
    pub fn delivered(&self) -> u64 {
        self.place.map_or(1, |place| place.delivered)
    }

    /// The store has it. Does not wait for the server.
    ///
    /// # Errors
    /// The client is gone. The submission then comes again and finds its task.
    pub async fn ack(&self) -> Result<(), Error> {
        self.delivery.answer(Answer::Ack).await
    }

    /// It can never be a task, and that was recorded.
    ///
    /// # Errors
    /// The client is gone. The submission then comes again.
    pub async fn term(&self) -> Result<(), Error> {
        self.delivery.answer(Answer::Term).await
    }

    /// Deliver it again: the store did not answer.
    ///
    /// # Errors
    /// The client is gone. The submission comes again when the wait for its ack is over.
    pub async fn nak(&self) -> Result<(), Error> {
        self.delivery.answer(Answer::Nak).await
    }
}
