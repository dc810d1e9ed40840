//! One message that JetStream delivered, and the answers to it.

use std::sync::Arc;

use async_nats::{HeaderMap, Subject};
use bytes::Bytes;

use crate::{Error, bus::Core};

/// One message that JetStream delivered.
pub(crate) struct Delivery {
    pub(crate) subject: Subject,
    pub(crate) payload: Bytes,
    pub(crate) headers: Option<Box<HeaderMap>>,
    pub(crate) reply: Subject,
    pub(crate) core: Arc<Core>,
}

impl std::fmt::Debug for Delivery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({} bytes)", self.subject, self.payload.len())
    }
}

/// Where a message stands in its stream and consumer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// How often it was delivered, from 1.
    pub(crate) delivered: u64,
    /// Its number in the stream.
    pub(crate) stream_seq: u64,
    /// The number of this delivery among all of the consumer.
    pub(crate) consumer_seq: u64,
    /// When the stream took it, milliseconds since the epoch by the server's clock.
    pub(crate) stored_ms: i64,
    /// Messages of the stream that the consumer has still to deliver.
    pub(crate) pending: u64,
}

/// How a delivery is answered.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Answer {
    /// It is done with.
    Ack,
    /// Deliver it again, at once.
    Nak,
    /// Never deliver it again.
    Term,
}

impl Delivery {
    /// Hands the answer to the client; does not wait for the server.
    pub(crate) async fn answer(&self, answer: Answer) -> Result<(), Error> {
        let body: &'static [u8] = match answer {
            Answer::Ack => b"+ACK",
            Answer::Nak => b"-NAK",
            Answer::Term => b"+TERM",
        };
        self.core
            .client
            .publish(self.reply.clone(), Bytes::from_static(body))
            .await
            .map_err(|error| Error::client("acknowledge", error))
    }

    pub(crate) fn place(&self) -> Option<Place> {
        place(&self.reply)
    }

    pub(crate) fn header(&self, name: &str) -> Option<String> {
        Some(self.headers.as_ref()?.get(name)?.as_str().to_owned())
    }
}

/// Reads `$JS.ACK.[domain.account.]stream.consumer.delivered.stream_seq.consumer_seq.nanos.pending[.token]` (ADR-15).
fn place(reply: &str) -> Option<Place> {
    let rest = reply.strip_prefix("$JS.ACK.")?;
    let skipped = if rest.split('.').count() >= 9 { 4 } else { 2 };
    let mut tokens = rest.split('.').skip(skipped);
    let mut number = || tokens.next()?.parse::<u64>().ok();
    Some(Place {
        delivered: number()?,
        stream_seq: number()?,
        consumer_seq: number()?,
        stored_ms: i64::try_from(number()? / 1_000_000).ok()?,
        pending: number()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_the_reply_subject_are_read() {
        let expected = Place {
            delivered: 2,
            stream_seq: 100,
            consumer_seq: 7,
            stored_ms: 1_700_000_000_123,
            pending: 5,
        };
        let short = "$JS.ACK.GENGFU_WORK.default-high.2.100.7.1700000000123456789.5";
        let long = "$JS.ACK._.hash.GENGFU_WORK.default-high.2.100.7.1700000000123456789.5.token";
        assert_eq!(place(short), Some(expected));
        assert_eq!(place(long), Some(expected));
        assert_eq!(place("_INBOX.1.2"), None);
        assert_eq!(place("$JS.ACK.a.b.1.x.3.4.5"), None);
    }
}
