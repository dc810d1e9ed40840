//! A subscription that pulled messages arrive on, and what can arrive there.

use std::sync::Arc;

use async_nats::{Message, StatusCode, Subject};
use bytes::Bytes;
use futures::{FutureExt, StreamExt};

use crate::{
    Delivery, Error,
    bus::Core,
    client::{Client, Subscriber},
};

#[derive(Debug)]
pub(crate) struct Inbox {
    base: String,
    subscriber: Subscriber,
    last_request: u64,
}

/// What arrived.
#[derive(Debug)]
pub(crate) enum Incoming {
    /// A message of the stream.
    Delivery(Delivery),
    /// The server's word on a request.
    Status(Option<u64>, Verdict),
}

/// What the server says of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It goes on.
    Open,
    /// It brings nothing more: nothing was there, or its time is up.
    Over,
    /// It brings nothing, and the next one should wait a moment.
    Busy,
    /// The consumer or its stream is gone.
    Gone,
}

impl Inbox {
    pub(crate) async fn open(core: &Core) -> Result<Self, Error> {
        let base = core.client.new_inbox();
        let subscriber = core
            .client
            .subscribe(format!("{base}.*"))
            .await
            .map_err(|error| Error::client("subscribe", error))?;
        Ok(Self {
            base,
            subscriber,
            last_request: 0,
        })
    }

    /// Asks the consumer behind `next` for messages. Returns the request's number.
    pub(crate) async fn request(
        &mut self,
        client: &Client,
        next: &Subject,
        body: String,
    ) -> Result<u64, Error> {
        self.last_request += 1;
        let number = self.last_request;
        let reply = format!("{}.{number}", self.base);
        client
            .publish_with_reply(next.clone(), reply, Bytes::from(body))
            .await
            .map_err(|error| Error::client("ask for messages", error))?;
        Ok(number)
    }

    /// The next that arrives; none when the client is gone. Safe to drop.
    pub(crate) async fn recv(&mut self, core: &Arc<Core>) -> Option<Incoming> {
        self.subscriber
            .next()
            .await
            .map(|message| self.read(core, message))
    }

    /// The next, if it is here already.
    pub(crate) fn try_recv(&mut self, core: &Arc<Core>) -> Option<Incoming> {
        let message = self.subscriber.next().now_or_never().flatten()?;
        Some(self.read(core, message))
    }

    fn read(&self, core: &Arc<Core>, message: Message) -> Incoming {
        match (message.status, message.reply) {
            (None | Some(StatusCode::OK), Some(reply)) => Incoming::Delivery(Delivery {
                subject: message.subject,
                payload: message.payload,
                headers: message.headers.map(Box::new),
                reply,
                core: Arc::clone(core),
            }),
            (status, _) => {
                let number = message
                    .subject
                    .strip_prefix(&self.base)
                    .and_then(|rest| rest[1..].parse().ok());
                Incoming::Status(
                    number,
                    verdict(status, message.description.as_deref().unwrap_or("")),
                )
            }
        }
    }
}

fn verdict(status: Option<StatusCode>, description: &str) -> Verdict {
    match status {
        Some(StatusCode::IDLE_HEARTBEAT) => Verdict::Open,
        Some(StatusCode::NOT_FOUND | StatusCode::TIMEOUT) => Verdict::Over,
        Some(StatusCode::NO_RESPONDERS) => Verdict::Gone,
        _ if description.eq_ignore_ascii_case("Consumer Deleted") => Verdict::Gone,
        _ if description.eq_ignore_ascii_case("Batch Completed") => Verdict::Over,
        _ => Verdict::Busy,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_missing_consumer_is_gone() {
        let conflict = StatusCode::from_u16(409).ok();
        assert_eq!(verdict(conflict, "Consumer Deleted"), Verdict::Gone);
        assert_eq!(verdict(Some(StatusCode::NO_RESPONDERS), ""), Verdict::Gone);
        assert_eq!(verdict(conflict, "Exceeded MaxWaiting"), Verdict::Busy);
        assert_eq!(verdict(conflict, "Leadership Change"), Verdict::Busy);
        assert_eq!(
            verdict(Some(StatusCode::TIMEOUT), "Request Timeout"),
            Verdict::Over
        );
        assert_eq!(verdict(Some(StatusCode::NOT_FOUND), "No Messages"), Verdict::Over);
        assert_eq!(
            verdict(Some(StatusCode::IDLE_HEARTBEAT), "Idle Heartbeat"),
            Verdict::Open
        );
    }
}
