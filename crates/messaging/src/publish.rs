//! Publishing with many acknowledgements in flight, and no timer that waits for company.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use async_nats::{HeaderMap, Subject};
use bytes::Bytes;
use domain::{Partition, Tier};
use proto::{EventBatch, EventEntry, Message, ReadyHint, Refused, Submission, WorkHint};
use tokio::sync::oneshot;

use crate::{
    Bus, Error,
    counts::count,
    subjects,
    window::{Ticket, Waiter},
};

/// Where the caller's trace context stands on submissions.
pub(crate) const TRACEPARENT: &str = "traceparent";
/// JetStream drops a message with an id that it saw a moment ago.
pub(crate) const MSG_ID: &str = "Nats-Msg-Id";

/// JetStream has the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ack {
    /// Its place in its stream.
    pub stream_seq: u64,
    /// It was there already, under the same id.
    pub duplicate: bool,
}

/// Resolves when JetStream acknowledged the message, refused it, or stayed silent for the configured time.
/// Dropping it takes nothing back.
#[derive(Debug)]
#[must_use = "the message is only safe when this resolved"]
pub struct Acked(oneshot::Receiver<Result<Ack, Error>>);

impl Future for Acked {
    type Output = Result<Ack, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(ready!(Pin::new(&mut self.0).poll(cx)).unwrap_or(Err(Error::Interrupted)))
    }
}

/// Publishes over a bus. All clones share the bus's window.
///
/// Every call fails at once while the bus is not ready, so that nothing piles up: hints would be stale by then,
/// and events are safe in their outbox.
#[derive(Debug, Clone)]
pub struct Publisher {
    bus: Bus,
}

impl Publisher {
    pub(crate) const fn new(bus: Bus) -> Self {
        Self { bus }
    }

    /// Hands over a hint that tasks may be claimed; waits only for room in the window.
    /// If it is lost on the way that is counted and logged at debug, and the dispatch lease heals it.
    ///
    /// # Errors
    /// It surely was not sent.
    pub async fn publish_work(&self, hint: &WorkHint) -> Result<(), Error> {
        let subject = subjects::work(&hint.pool, tier(hint.tier)?)?;
        self.hint(subject, hint.encode_to_vec()).await
    }

    /// Hands over a hint that a queue is not empty any more; otherwise as [`Self::publish_work`].
    ///
    /// # Errors
    /// It surely was not sent.
    pub async fn publish_ready(&self, hint: &ReadyHint) -> Result<(), Error> {
        self.hint(subjects::ready(tier(hint.tier)?), hint.encode_to_vec())
            .await
    }

    /// Hands over an encoded [`proto::EventBatch`]; waits only for room in the window. Messages of one caller enter
    /// the stream in the order of these calls, as far as they enter it.
    ///
    /// # Errors
    /// It surely was not sent.
    pub async fn publish_event(
        &self,
        partition: Partition,
        msg_id: &str,
        batch: Bytes,
    ) -> Result<Acked, Error> {
        let mut headers = HeaderMap::new();
        headers.insert(MSG_ID, msg_id);
        self.send(subjects::events(partition), Some(headers), batch).await
    }

    /// Publishes that a submission became no task, and waits until the stream has it. The same refusal again is
    /// dropped by the stream.
    ///
    /// # Errors
    /// The stream may not have it.
    pub async fn publish_refused(&self, partition: Partition, refused: Refused) -> Result<Ack, Error> {
        let msg_id = format!("refused-{}", refused.source);
        let batch = EventBatch {
            partition: partition.into(),
            entries: vec![EventEntry {
                refused: vec![refused],
                ..EventEntry::default()
            }],
        };
        let body = batch.encode_to_vec().into();
        self.publish_event(partition, &msg_id, body).await?.await
    }

    /// Hands over a submission; acknowledged means stored in the stream, not accepted yet.
    ///
    /// # Errors
    /// It surely was not sent.
    pub async fn submit(&self, tier: Tier, submission: &Submission) -> Result<Acked, Error> {
        let headers = (!submission.traceparent.is_empty()).then(|| {
            let mut headers = HeaderMap::new();
            headers.insert(TRACEPARENT, submission.traceparent.as_str());
            headers
        });
        self.send(subjects::submit(tier), headers, submission.encode_to_vec().into())
            .await
    }

    /// Publishes that wait for their acknowledgement now.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.bus.core.window.in_flight()
    }

    async fn hint(&self, subject: String, body: Vec<u8>) -> Result<(), Error> {
        let ticket = self.enter(body.len(), Waiter::Hint).await?;
        self.hand_over(ticket, subject, None, body.into()).await?;
        count(&self.bus.core.counters.hints_sent);
        Ok(())
    }

    async fn send(&self, subject: String, headers: Option<HeaderMap>, body: Bytes) -> Result<Acked, Error> {
        let (caller, acked) = oneshot::channel();
        let ticket = self.enter(body.len(), Waiter::Caller(caller)).await?;
        self.hand_over(ticket, subject, headers, body).await?;
        Ok(Acked(acked))
    }

    async fn enter(&self, bytes: usize, waiter: Waiter) -> Result<Ticket<'_>, Error> {
        let core = &self.bus.core;
        core.link.ready_epoch()?;
        let limit = core.client.max_payload();
        if bytes > limit {
            return Err(Error::TooLarge { bytes, limit });
        }
        let patience = core.config.ack_timeout;
        tokio::time::timeout(patience, core.window.enter(bytes, waiter))
            .await
            .map_err(|_| Error::Timeout(patience))
    }

    async fn hand_over(
        &self,
        ticket: Ticket<'_>,
        subject: String,
        headers: Option<HeaderMap>,
        body: Bytes,
    ) -> Result<(), Error> {
        let core = &self.bus.core;
        // Room can come late, after the connection went.
        core.link.ready_epoch()?;
        let subject = Subject::from(subject);
        let patience = core.config.ack_timeout;
        let sent = tokio::time::timeout(patience, async {
            match headers {
                None => {
                    core.client
                        .publish_with_reply(subject, ticket.reply(), body)
                        .await
                }
                Some(headers) => {
                    let reply = ticket.reply();
                    core.client
                        .publish_with_reply_and_headers(subject, reply, headers, body)
                        .await
                }
            }
        });
        match sent.await {
            Ok(Ok(())) => {
                ticket.keep();
                Ok(())
            }
            Ok(Err(error)) => Err(Error::client("publish", error)),
            Err(_) => Err(Error::Timeout(patience)),
        }
    }
}

fn tier(number: u32) -> Result<Tier, Error> {
    let tier = u8::try_from(number).ok().and_then(Tier::from_u8);
    tier.ok_or(Error::InvalidTier(number))
}
