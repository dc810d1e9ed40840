//! A client without a server: what a simulation puts in the place of NATS. Everything above the client, from the
//! window of publishes to the standing pulls, is that of production.

use std::{
    collections::BTreeMap,
    error::Error as StdError,
    fmt::Debug,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use async_nats::{
    HeaderMap, Message, RequestError, RequestErrorKind, ServerInfo, StatusCode, Subject,
    connection::State,
    jetstream::{
        self,
        consumer::{AckPolicy, DeliverPolicy, pull},
        stream::{ConsumerError, ConsumerErrorKind},
    },
};
use bytes::Bytes;
use futures::{Stream, StreamExt};

use crate::epoch::Words;
use crate::{Bus, Config, link::Link};

type Boxed = Box<dyn StdError + Send + Sync>;

/// A message on the wire.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Letter {
    /// Where it goes.
    pub subject: String,
    /// Where an answer goes.
    pub reply: Option<String>,
    /// Its bytes.
    pub payload: Bytes,
    /// Its headers.
    pub headers: BTreeMap<String, String>,
    /// The server's own word instead of a message, such as 404.
    pub status: Option<u16>,
    /// What that means.
    pub description: String,
}

/// A durable pull consumer, as it is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedConsumer {
    /// Its stream.
    pub stream: String,
    /// Its name.
    pub name: String,
    /// The subject that it takes.
    pub filter: String,
    /// How long it waits for an ack.
    pub ack_wait: Duration,
    /// Whether an ack is one for all before it.
    pub ack_all: bool,
    /// The first message of the stream that it takes.
    pub start: u64,
}

/// What arrives on a subscription.
pub type Letters = Box<dyn Stream<Item = Letter> + Send + Unpin>;

/// One process's way to a bus in memory. It plays the server too: acknowledgements, pulls and acks are messages as on
/// a real one.
pub trait Wire: Send + Sync + Debug + 'static {
    /// Whether there is a connection.
    fn is_connected(&self) -> bool;
    /// How often it was made.
    fn connects(&self) -> u64;
    /// A subject of its own.
    fn new_inbox(&self) -> String;
    /// Sends a message; it may be lost on its way.
    fn publish(&self, letter: Letter);
    /// Everything on a subject from now on; members of a group share it.
    fn subscribe(&self, subject: String, group: Option<String>) -> Letters;
    /// Sees to it that the streams exist; when that of the events was created, in milliseconds since the epoch.
    fn streams_created_ms(&self) -> i64;
    /// A word in the metadata of the events stream.
    fn word(&self, key: &str) -> Option<String>;
    /// Keeps a word in the metadata of the events stream, which outlives its messages.
    fn keep_word(&self, key: &str, word: &str);
    /// Creates a consumer unless it exists; whether its stream does.
    fn create_consumer(&self, wanted: WantedConsumer) -> bool;
    /// Removes a consumer.
    fn delete_consumer(&self, stream: &str, name: &str);
}

impl Bus {
    /// A bus over a wire in memory.
    #[must_use]
    pub fn in_memory(config: Config, wire: Arc<dyn Wire>) -> Self {
        let (client, js) = (Client::Memory(Arc::clone(&wire)), JetStream::Memory(wire));
        Self::over(client, js, config, Arc::new(Link::new()))
    }
}

/// A client, with a server or without.
#[derive(Debug, Clone)]
pub(crate) enum Client {
    Nats(async_nats::Client),
    Memory(Arc<dyn Wire>),
}

/// What manages streams and consumers.
#[derive(Debug)]
pub(crate) enum JetStream {
    Nats(Box<jetstream::Context>),
    Memory(Arc<dyn Wire>),
}

pub(crate) enum Subscriber {
    Nats(async_nats::Subscriber),
    Memory(Letters),
}

impl Debug for Subscriber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a subscription")
    }
}

impl Client {
    pub(crate) fn connection_state(&self) -> State {
        match self {
            Self::Nats(client) => client.connection_state(),
            Self::Memory(wire) if wire.is_connected() => State::Connected,
            Self::Memory(_) => State::Disconnected,
        }
    }

    pub(crate) fn try_server_info(&self) -> Option<ServerInfo> {
        match self {
            Self::Nats(client) => client.try_server_info(),
            Self::Memory(_) => Some(ServerInfo {
                version: "2.15.0".into(),
                jetstream: true,
                max_payload: self.max_payload(),
                ..ServerInfo::default()
            }),
        }
    }

    pub(crate) fn max_payload(&self) -> usize {
        match self {
            Self::Nats(client) => client.max_payload(),
            Self::Memory(_) => 1 << 20,
        }
    }

    pub(crate) fn new_inbox(&self) -> String {
        match self {
            Self::Nats(client) => client.new_inbox(),
            Self::Memory(wire) => wire.new_inbox(),
        }
    }

    pub(crate) async fn publish(&self, subject: impl Into<Subject>, payload: Bytes) -> Result<(), Boxed> {
        match self {
            Self::Nats(client) => Ok(client.publish(subject.into(), payload).await?),
            Self::Memory(wire) => {
                wire.publish(letter(&subject.into(), None, None, payload));
                Ok(())
            }
        }
    }

    pub(crate) async fn publish_with_reply(
        &self,
        subject: impl Into<Subject>,
        reply: impl Into<Subject>,
        payload: Bytes,
    ) -> Result<(), Boxed> {
        let (subject, reply) = (subject.into(), reply.into());
        match self {
            Self::Nats(client) => Ok(client.publish_with_reply(subject, reply, payload).await?),
            Self::Memory(wire) => {
                wire.publish(letter(&subject, Some(&reply), None, payload));
                Ok(())
            }
        }
    }

    pub(crate) async fn publish_with_reply_and_headers(
        &self,
        subject: Subject,
        reply: Subject,
        headers: HeaderMap,
        payload: Bytes,
    ) -> Result<(), Boxed> {
        match self {
            Self::Nats(client) => Ok(client
                .publish_with_reply_and_headers(subject, reply, headers, payload)
                .await?),
            Self::Memory(wire) => {
                wire.publish(letter(&subject, Some(&reply), Some(&headers), payload));
                Ok(())
            }
        }
    }

    pub(crate) async fn subscribe(&self, subject: impl Into<Subject>) -> Result<Subscriber, Boxed> {
        let subject = subject.into();
        match self {
            Self::Nats(client) => Ok(Subscriber::Nats(client.subscribe(subject).await?)),
            Self::Memory(wire) => Ok(Subscriber::Memory(wire.subscribe(subject.to_string(), None))),
        }
    }

    pub(crate) async fn queue_subscribe(&self, subject: &str, group: String) -> Result<Subscriber, Boxed> {
        match self {
            Self::Nats(client) => Ok(Subscriber::Nats(
                client.queue_subscribe(subject.to_owned(), group).await?,
            )),
            Self::Memory(wire) => Ok(Subscriber::Memory(
                wire.subscribe(subject.to_owned(), Some(group)),
            )),
        }
    }

    pub(crate) async fn request(
        &self,
        subject: impl Into<Subject>,
        payload: Bytes,
    ) -> Result<Message, RequestError> {
        let subject = subject.into();
        let wire = match self {
            Self::Nats(client) => return client.request(subject, payload).await,
            Self::Memory(wire) => wire,
        };
        let inbox = wire.new_inbox();
        let mut answers = wire.subscribe(inbox.clone(), None);
        wire.publish(letter(&subject, Some(&inbox.into()), None, payload));
        let answer = tokio::time::timeout(Config::default().request_timeout, answers.next()).await;
        match answer.ok().flatten().map(message) {
            Some(answer) if answer.status == Some(StatusCode::NO_RESPONDERS) => {
                Err(RequestError::new(RequestErrorKind::NoResponders))
            }
            Some(answer) => Ok(answer),
            None => Err(RequestError::new(RequestErrorKind::TimedOut)),
        }
    }

    pub(crate) async fn flush(&self) -> Result<(), Boxed> {
        match self {
            Self::Nats(client) => Ok(client.flush().await?),
            Self::Memory(_) => Ok(()),
        }
    }
}

impl JetStream {
    pub(crate) async fn delete_consumer_from_stream(&self, name: String, stream: &str) -> Result<(), Boxed> {
        match self {
            Self::Nats(js) => {
                js.delete_consumer_from_stream(name, stream).await?;
            }
            Self::Memory(wire) => wire.delete_consumer(stream, &name),
        }
        Ok(())
    }

    pub(crate) async fn create_consumer_on_stream(
        &self,
        config: pull::Config,
        stream: &str,
    ) -> Result<(), ConsumerError> {
        match self {
            Self::Nats(js) => js.create_consumer_on_stream(config, stream).await.map(drop),
            Self::Memory(wire) => {
                let exists = wire.create_consumer(wanted(config, stream));
                exists
                    .then_some(())
                    .ok_or_else(|| ConsumerError::new(ConsumerErrorKind::TimedOut))
            }
        }
    }
}

impl Words for JetStream {
    async fn word(&self, stream: &str, key: &str) -> Result<Option<String>, Boxed> {
        match self {
            Self::Nats(js) => js.word(stream, key).await,
            Self::Memory(wire) => Ok(wire.word(key)),
        }
    }

    async fn keep_word(&self, stream: &str, key: &str, word: &str) -> Result<(), Boxed> {
        match self {
            Self::Nats(js) => js.keep_word(stream, key, word).await,
            Self::Memory(wire) => {
                wire.keep_word(key, word);
                Ok(())
            }
        }
    }
}

fn wanted(config: pull::Config, stream: &str) -> WantedConsumer {
    let start = match config.deliver_policy {
        DeliverPolicy::ByStartSequence { start_sequence } => start_sequence,
        _ => 1,
    };
    WantedConsumer {
        stream: stream.to_owned(),
        name: config.durable_name.unwrap_or_default(),
        filter: config.filter_subject,
        ack_wait: config.ack_wait,
        ack_all: config.ack_policy == AckPolicy::All,
        start,
    }
}

impl Subscriber {
    pub(crate) async fn drain(&mut self) -> Result<(), Boxed> {
        match self {
            Self::Nats(subscriber) => Ok(subscriber.drain().await?),
            Self::Memory(letters) => {
                *letters = Box::new(futures::stream::empty());
                Ok(())
            }
        }
    }
}

impl Stream for Subscriber {
    type Item = Message;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Message>> {
        match &mut *self {
            Self::Nats(subscriber) => subscriber.poll_next_unpin(cx),
            Self::Memory(letters) => letters.poll_next_unpin(cx).map(|next| next.map(message)),
        }
    }
}

fn letter(subject: &Subject, reply: Option<&Subject>, headers: Option<&HeaderMap>, payload: Bytes) -> Letter {
    let pairs = headers.into_iter().flat_map(HeaderMap::iter);
    Letter {
        subject: subject.to_string(),
        reply: reply.map(ToString::to_string),
        payload,
        headers: pairs
            .filter_map(|(name, values)| Some((name.to_string(), values.first()?.as_str().to_owned())))
            .collect(),
        status: None,
        description: String::new(),
    }
}

fn message(letter: Letter) -> Message {
    let mut headers = HeaderMap::new();
    for (name, value) in &letter.headers {
        headers.insert(name.as_str(), value.as_str());
    }
    Message {
        length: letter.payload.len(),
        subject: letter.subject.into(),
        reply: letter.reply.map(Subject::from),
        payload: letter.payload,
        headers: (!letter.headers.is_empty()).then_some(headers),
        status: letter.status.and_then(|status| StatusCode::from_u16(status).ok()),
        description: Some(letter.description).filter(|text| !text.is_empty()),
    }
}
