//! Why the bus could not do something.

use std::{error::Error as StdError, sync::Arc, time::Duration};

/// Why the bus could not do something. Its sentence never repeats its source.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no connection, or the streams are being prepared.
    #[error("NATS is not ready")]
    NotReady,
    /// The connection ended before the answer came; what was asked may have happened.
    #[error("the connection to NATS ended before the answer came")]
    Interrupted,
    /// No answer in time; what was asked may have happened.
    #[error("no answer from NATS within {0:?}")]
    Timeout(Duration),
    /// Nobody listens: no service answers the request, or no stream takes the message.
    #[error("nobody on NATS takes messages for {0}")]
    NoResponders(String),
    /// JetStream took note of the message and refused it, for example because its stream is full.
    #[error("JetStream refused the message: {0}")]
    Refused(String),
    /// The message is larger than the server accepts.
    #[error("a message of {bytes} bytes is over the limit of {limit} bytes")]
    TooLarge {
        /// The message's size.
        bytes: usize,
        /// What the server accepts.
        limit: usize,
    },
    /// The server is older than Gengfu needs.
    #[error("NATS server {0} is too old; Gengfu needs 2.10 or newer")]
    ServerTooOld(String),
    /// The server's `max_payload` does not hold the largest message.
    #[error(
        "max_payload of the NATS server is {have} bytes, but messages can have {need}; \
         raise max_payload or lower limits.payload_bytes"
    )]
    MaxPayload {
        /// The server's limit, in bytes.
        have: usize,
        /// The largest message, in bytes.
        need: usize,
    },
    /// The server runs without JetStream.
    #[error("the NATS server runs without JetStream; start it with -js or a jetstream block")]
    NoJetStream,
    /// A stream differs from the configuration in a way that cannot be mended in place.
    #[error(
        "stream {stream} has {setting} {have}, but {want} is configured, and that cannot be changed in place; \
         delete the stream or change the configuration"
    )]
    Drift {
        /// The stream's name.
        stream: String,
        /// What differs.
        setting: &'static str,
        /// What the server has.
        have: String,
        /// What the configuration asks for.
        want: String,
    },
    /// JetStream would not create or change a stream or consumer.
    #[error("JetStream would not set up {what}")]
    SetUp {
        /// The stream or consumer.
        what: String,
        /// The server's reason.
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The name cannot be a pool's.
    #[error("a pool is named [a-z0-9][a-z0-9_-]*, not {0:?}")]
    InvalidPool(String),
    /// The number is no tier's.
    #[error("a tier is 1, 2, 3 or 4, not {0}")]
    InvalidTier(u32),
    /// The URL of the server cannot be read.
    #[error("nats.url is not a URL such as nats://127.0.0.1:4222")]
    InvalidUrl(#[source] std::io::Error),
    /// The bytes are not the message that belongs on this subject.
    #[error("the message cannot be decoded")]
    Undecodable(#[from] proto::DecodeError),
    /// The client could not do its part.
    #[error("could not {attempted}")]
    Client {
        /// What was tried.
        attempted: &'static str,
        /// The client's reason.
        source: Box<dyn StdError + Send + Sync>,
    },
}

impl Error {
    /// Whether the same call can succeed later without anybody's doing.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        match self {
            Self::NotReady
            | Self::Interrupted
            | Self::Timeout(_)
            | Self::NoResponders(_)
            | Self::Refused(_)
            | Self::SetUp { .. }
            | Self::Client { .. } => true,
            Self::TooLarge { .. }
            | Self::ServerTooOld(_)
            | Self::MaxPayload { .. }
            | Self::NoJetStream
            | Self::Drift { .. }
            | Self::InvalidPool(_)
            | Self::InvalidTier(_)
            | Self::InvalidUrl(_)
            | Self::Undecodable(_) => false,
        }
    }

    pub(crate) fn client(
        attempted: &'static str,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Self {
        Self::Client {
            attempted,
            source: source.into(),
        }
    }

    pub(crate) fn set_up(
        what: impl Into<String>,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Self {
        Self::SetUp {
            what: what.into(),
            source: source.into(),
        }
    }

    /// The sentence and those of its sources, for one log line.
    pub(crate) fn chain(&self) -> String {
        let mut text = self.to_string();
        let mut next = self.source();
        while let Some(source) = next {
            text = format!("{text}: {source}");
            next = source.source();
        }
        text
    }
}

/// Why the bus is not ready, shared by all who wait for it.
pub type SharedError = Arc<Error>;
