//! How the NATS server stands, for people who look after it.

use std::time::Duration;

use domain::Millis;

use crate::{Bus, Error, client, streams};

/// How the server stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NatsFacts {
    /// Its version.
    pub version: String,
    /// The largest message that it takes, in bytes.
    pub max_payload: usize,
    /// The largest message that we send, in bytes.
    pub message_bytes: usize,
    /// Bytes that JetStream uses in memory and on disk,
    pub used: (u64, u64),
    /// and may use; 0 or less where there is no limit.
    pub limits: (i64, i64),
    /// Our streams.
    pub streams: Vec<StreamFacts>,
}

/// How a stream stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StreamFacts {
    /// Its name.
    pub name: &'static str,
    /// Messages in it.
    pub messages: u64,
    /// Their bytes,
    pub bytes: u64,
    /// and how many it may have; 0 or less where there is no limit.
    pub max_bytes: i64,
    /// The age at which messages leave it; zero: never.
    pub max_age: Duration,
    /// When its oldest message was stored, by the server's clock; 0 where it is empty.
    pub first_ms: Millis,
    /// Its copies.
    pub replicas: usize,
}

impl Bus {
    /// Asks the server how it stands.
    ///
    /// # Errors
    /// NATS is away, or has no JetStream.
    pub async fn facts(&self) -> Result<NatsFacts, Error> {
        let core = &self.core;
        let info = core.client.try_server_info().ok_or(Error::NotReady)?;
        let js = client::nats(&core.js)?;
        let account = js.query_account().await;
        let account = account.map_err(|error| Error::client("ask JetStream", error))?;
        let mut facts = NatsFacts {
            version: info.version.clone(),
            max_payload: info.max_payload,
            message_bytes: core.config.message_bytes,
            used: (account.memory, account.storage),
            limits: (
                account.limits.max_memory.unwrap_or(0),
                account.limits.max_storage.unwrap_or(0),
            ),
            streams: Vec::new(),
        };
        for name in [streams::SUBMIT, streams::READY, streams::WORK, streams::EVENTS] {
            let stream = js.get_stream(name).await;
            let stream = stream.map_err(|error| Error::set_up(name, error))?;
            let info = stream.cached_info();
            let first = info.state.first_timestamp.unix_timestamp_nanos() / 1_000_000;
            facts.streams.push(StreamFacts {
                name,
                messages: info.state.messages,
                bytes: info.state.bytes,
                max_bytes: info.config.max_bytes,
                max_age: info.config.max_age,
                first_ms: i64::try_from(first).unwrap_or(0).max(0),
                replicas: info.config.num_replicas,
            });
        }
        Ok(facts)
    }
}
