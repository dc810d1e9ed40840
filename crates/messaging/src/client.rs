//! The client that everything here talks through: that of async-nats, and under the feature `memory` also one that
//! needs no server.

use std::sync::atomic::Ordering::Relaxed;

use async_nats::jetstream;

#[cfg(not(feature = "memory"))]
pub(crate) use async_nats::{Client, Subscriber, jetstream::Context as JetStream};

#[cfg(feature = "memory")]
pub(crate) use crate::memory::{Client, JetStream, Subscriber};

/// A real connection, as the types of this module.
#[cfg(not(feature = "memory"))]
pub(crate) const fn real(client: async_nats::Client, js: jetstream::Context) -> (Client, JetStream) {
    (client, js)
}

#[cfg(feature = "memory")]
pub(crate) fn real(client: async_nats::Client, js: jetstream::Context) -> (Client, JetStream) {
    (Client::Nats(client), JetStream::Nats(Box::new(js)))
}

/// The real server's JetStream, for what no server in memory plays.
///
/// # Errors
/// It is one in memory.
#[cfg_attr(
    not(feature = "memory"),
    expect(clippy::unnecessary_wraps, reason = "in memory there is none")
)]
pub(crate) fn nats(js: &JetStream) -> Result<&jetstream::Context, crate::Error> {
    #[cfg(feature = "memory")]
    let js = match js {
        JetStream::Nats(js) => js,
        JetStream::Memory(_) => return Err(crate::Error::NotReady),
    };
    Ok(js)
}

/// How often it connected.
pub(crate) fn connects(client: &Client) -> u64 {
    #[cfg(feature = "memory")]
    let client = match client {
        Client::Nats(client) => client,
        Client::Memory(wire) => return wire.connects(),
    };
    client.statistics().connects.load(Relaxed)
}
