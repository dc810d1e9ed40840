//! The events of a partition as they stand in the stream, for whoever looks at them without being the recorder.

use std::time::Duration;

use async_nats::{
    datetime::DateTime,
    jetstream::{
        Message as Delivered,
        consumer::{AckPolicy, DeliverPolicy, PullConsumer, pull},
    },
};
use domain::{Millis, Partition};
use futures::StreamExt;
use proto::{EventBatch, Message};

use crate::{Bus, Error, client, streams, subjects};

/// Messages asked for at a time; each holds up to 512 KiB.
const BATCH: usize = 16;
/// How long the server may take for them.
const FETCH_LIMIT: Duration = Duration::from_secs(5);
/// A look whose reader went away leaves the server after this.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(60);

/// What the events stream holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EventsSpan {
    /// When the stream was created, by the server's clock.
    pub created_ms: Millis,
    /// The number of its first message; 1 where nothing has left it.
    pub first_seq: u64,
    /// When that was stored.
    pub first_ms: Millis,
    /// The number of its last message.
    pub last_seq: u64,
    /// How many messages it holds.
    pub messages: u64,
    /// How many bytes.
    pub bytes: u64,
}

/// One message of the stream.
#[derive(Debug, Clone)]
pub struct LoggedEvents {
    /// Its number in the stream.
    pub seq: u64,
    /// When it was stored, by the server's clock.
    pub stored_ms: Millis,
    /// What it holds; none where it can't be decoded.
    pub batch: Option<EventBatch>,
}

/// Reads the events of one partition in order, up to where the stream ended when it was asked.
#[derive(Debug)]
pub struct EventLog {
    consumer: PullConsumer,
    left: u64,
}

impl Bus {
    /// What the events stream holds now.
    ///
    /// # Errors
    /// NATS is away, or there is no such stream.
    pub async fn events_span(&self) -> Result<EventsSpan, Error> {
        let stream = client::nats(&self.core.js)?.get_stream(streams::EVENTS).await;
        let stream = stream.map_err(|error| Error::set_up(streams::EVENTS, error))?;
        let info = stream.cached_info();
        let ms = |at: DateTime| i64::try_from(at.unix_timestamp_nanos() / 1_000_000).unwrap_or(0);
        Ok(EventsSpan {
            created_ms: ms(info.created),
            first_seq: info.state.first_sequence,
            first_ms: ms(info.state.first_timestamp),
            last_seq: info.state.last_sequence,
            messages: info.state.messages,
            bytes: info.state.bytes,
        })
    }

    /// Looks at the events of a partition: from message `seq` on, or from those stored since `since` on.
    ///
    /// # Errors
    /// NATS is away, or there is no such stream.
    pub async fn event_log(
        &self,
        partition: Partition,
        seq: u64,
        since: Option<Millis>,
    ) -> Result<EventLog, Error> {
        let from = since.and_then(|ms| {
            let nanos = i128::from(ms) * 1_000_000;
            DateTime::from_unix_timestamp_nanos(nanos).ok()
        });
        let deliver_policy = match from {
            Some(start_time) => DeliverPolicy::ByStartTime { start_time },
            None => DeliverPolicy::ByStartSequence {
                start_sequence: seq.max(1),
            },
        };
        let config = pull::Config {
            filter_subject: subjects::events(partition),
            ack_policy: AckPolicy::None,
            deliver_policy,
            memory_storage: true,
            num_replicas: 1,
            inactive_threshold: FORGOTTEN_AFTER,
            ..pull::Config::default()
        };
        let js = client::nats(&self.core.js)?;
        let made = js.create_consumer_on_stream(config, streams::EVENTS).await;
        let consumer: PullConsumer = made.map_err(|error| Error::set_up("a look at the events", error))?;
        let left = consumer.cached_info().num_pending;
        Ok(EventLog { consumer, left })
    }
}

impl EventLog {
    /// The next messages; none at the end.
    ///
    /// # Errors
    /// The server does not answer, or took the consumer away: look again from the message after the last.
    pub async fn next_batch(&mut self) -> Result<Vec<LoggedEvents>, Error> {
        if self.left == 0 {
            return Ok(Vec::new());
        }
        let asked = BATCH.min(usize::try_from(self.left).unwrap_or(BATCH));
        let fetch = self.consumer.fetch().max_messages(asked).expires(FETCH_LIMIT);
        let found = fetch.messages().await;
        let mut found = found.map_err(|error| Error::client("fetch events", error))?;
        let mut batch = Vec::with_capacity(asked);
        while let Some(message) = found.next().await {
            let message = message.map_err(|error| Error::client("fetch events", error))?;
            batch.push(logged(&message)?);
        }
        if batch.is_empty() {
            return Err(Error::Timeout(FETCH_LIMIT));
        }
        self.left = self.left.saturating_sub(batch.len() as u64);
        Ok(batch)
    }
}

fn logged(message: &Delivered) -> Result<LoggedEvents, Error> {
    let info = message.info();
    let info = info.map_err(|error| Error::client("read the place of a message", error))?;
    let nanos = info.published.unix_timestamp_nanos();
    Ok(LoggedEvents {
        seq: info.stream_sequence,
        stored_ms: i64::try_from(nanos / 1_000_000).unwrap_or(0),
        batch: EventBatch::decode(message.payload.clone()).ok(),
    })
}
