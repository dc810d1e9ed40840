//! Subjects, streams, envelopes, publisher and consumers; the only user of async-nats.
//!
//! A [`Bus`] is one connection that is made lazily and kept for ever. Everything it carries is a hint, an event that
//! is still in its outbox, or a submission that its sender repeats: JetStream may lose, repeat, delay or reorder
//! anything, or be wiped while running, and all of this goes on by itself.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod admit;
mod announce;
mod broadcast;
mod bus;
mod client;
mod config;
mod consumer;
mod counts;
mod delivery;
mod epoch;
mod error;
mod event_log;
mod event_wire;
mod events;
mod facts;
mod feed;
mod inbox;
mod jitter;
mod link;
#[cfg(feature = "memory")]
pub mod memory;
mod publish;
mod pull;
mod question;
mod ready;
mod server;
pub mod streams;
pub mod subjects;
mod submit;
mod tiers;
mod window;
mod work;

pub use admit::{AdmitAnswer, AdmitCall, AdmitRequests};
pub use announce::{AnnounceCounts, Announcer};
pub use broadcast::Broadcasts;
pub use bus::Bus;
pub use config::Config;
pub use counts::Counts;
pub use error::{Error, SharedError};
pub use event_log::{EventLog, EventsSpan, LoggedEvents};
pub use event_wire::{EventError, entry_to_wire, event_from_wire, event_to_wire};
pub use events::{EventMessage, EventPuller, Position};
pub use facts::{NatsFacts, StreamFacts};
pub use link::State;
pub use publish::{Ack, Acked, Publisher};
pub use question::{Question, Questions};
pub use ready::{ReadyMessage, ReadyPuller};
pub use submit::{SubmitMessage, SubmitPuller};
pub use work::{Idle, WorkMessage, WorkPuller};

pub(crate) use delivery::Delivery;
