//! Durable consumers: what they should be, and that they exist.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use async_nats::{
    Subject,
    jetstream::{
        ErrorCode,
        consumer::{AckPolicy, DeliverPolicy, pull},
        stream::ConsumerErrorKind,
    },
};
use domain::{Partition, Tier};

use crate::{Bus, Error, Position, link::Snapshot, streams, subjects};

/// A consumer that nobody pulled from for so long is one of a pool or tier that is gone.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(24 * 3600);
/// Pull requests that may wait at once, of all processes.
const MAX_WAITING: i64 = 2_048;

#[derive(Debug)]
pub(crate) struct Consumer {
    stream: &'static str,
    config: pull::Config,
    /// The subject that asks it for messages.
    pub(crate) next: Subject,
    /// The epoch in which it was last seen to exist.
    prepared: AtomicU64,
    lock: tokio::sync::Mutex<()>,
    /// Where an ordered consumer goes on. It is made anew from there in every epoch.
    position: Option<Mutex<Position>>,
}

impl Consumer {
    /// Hints for the executors of a pool. Held only until they are claimed, so a short wait tells a lost one.
    pub(crate) fn work(pool: &str, tier: Tier) -> Result<Self, Error> {
        let config = pull::Config {
            filter_subject: subjects::work(pool, tier)?,
            ack_wait: Duration::from_secs(5),
            max_ack_pending: 20_000,
            inactive_threshold: FORGOTTEN_AFTER,
            ..shared(format!("{pool}-{tier}"))
        };
        Ok(Self::new(streams::WORK, config))
    }

    /// Submissions for the dispatchers.
    pub(crate) fn submit(tier: Tier) -> Self {
        let config = pull::Config {
            filter_subject: subjects::submit(tier),
            ack_wait: Duration::from_secs(10),
            max_ack_pending: 5_000,
            ..shared(format!("dispatchers-{tier}"))
        };
        Self::new(streams::SUBMIT, config)
    }

    /// Ready hints for the dispatchers.
    pub(crate) fn ready(tier: Tier) -> Self {
        let config = pull::Config {
            filter_subject: subjects::ready(tier),
            ack_wait: Duration::from_secs(5),
            max_ack_pending: 20_000,
            ..shared(format!("dispatchers-{tier}"))
        };
        Self::new(streams::READY, config)
    }

    /// The events of a partition for the recorder, in order, after `position`.
    pub(crate) fn recorder(partition: Partition, position: Position) -> Self {
        let config = pull::Config {
            filter_subject: subjects::events(partition),
            ack_policy: AckPolicy::All,
            // Repeats are dropped here, so they only cost; a slow archive must not cause them.
            ack_wait: Duration::from_secs(120),
            max_ack_pending: 1_000,
            ..shared(format!("recorder-{partition}"))
        };
        Self {
            position: Some(Mutex::new(position)),
            ..Self::new(streams::EVENTS, config)
        }
    }

    fn new(stream: &'static str, config: pull::Config) -> Self {
        let name = config.durable_name.as_deref().unwrap_or_default();
        Self {
            stream,
            next: Subject::from(format!("$JS.API.CONSUMER.MSG.NEXT.{stream}.{name}")),
            config,
            prepared: AtomicU64::new(0),
            lock: tokio::sync::Mutex::new(()),
            position: None,
        }
    }

    pub(crate) const fn is_ordered(&self) -> bool {
        self.position.is_some()
    }

    /// Where an ordered consumer stands.
    pub(crate) fn position(&self) -> Position {
        let position = self
            .position
            .as_ref()
            .map(|p| *p.lock().unwrap_or_else(PoisonError::into_inner));
        position.unwrap_or_default()
    }

    pub(crate) fn advance(&self, to: Position) {
        if let Some(position) = &self.position {
            *position.lock().unwrap_or_else(PoisonError::into_inner) = to;
        }
    }

    /// Makes the next `prepare` look again.
    pub(crate) fn forget(&self) {
        self.prepared.store(0, Relaxed);
    }

    /// Sees to it that it exists. Returns the epoch for which that holds.
    pub(crate) async fn prepare(&self, bus: &Bus) -> Result<u64, Error> {
        let epoch = bus.core.link.ready_epoch()?;
        if self.prepared.load(Relaxed) == epoch {
            return Ok(epoch);
        }
        let _one_at_a_time = self.lock.lock().await;
        let now = bus.core.link.snapshot();
        if self.prepared.load(Relaxed) != now.epoch {
            self.create(bus, &now).await?;
            self.prepared.store(now.epoch, Relaxed);
        }
        Ok(now.epoch)
    }

    async fn create(&self, bus: &Bus, now: &Snapshot) -> Result<(), Error> {
        let mut config = self.config.clone();
        if self.is_ordered() {
            let mut position = self.position();
            if position.stream_created_ms != now.events_created_ms {
                position = Position {
                    stream_created_ms: now.events_created_ms,
                    stream_seq: 0,
                };
                self.advance(position);
            }
            config.deliver_policy = DeliverPolicy::ByStartSequence {
                start_sequence: position.stream_seq + 1,
            };
            let name = config.durable_name.clone().unwrap_or_default();
            // A start cannot be changed; most of the time there is one from before. If there is none, good.
            let _ = bus.core.js.delete_consumer_from_stream(name, self.stream).await;
        }
        let what = || {
            format!(
                "consumer {} of {}",
                config.durable_name.as_deref().unwrap_or(""),
                self.stream
            )
        };
        match bus
            .core
            .js
            .create_consumer_on_stream(config.clone(), self.stream)
            .await
        {
            Ok(_) => Ok(()),
            Err(error) => {
                if is_stream_missing(&error.kind()) {
                    bus.core.link.stale(now.epoch);
                }
                Err(Error::set_up(what(), error))
            }
        }
    }
}

fn shared(name: String) -> pull::Config {
    pull::Config {
        durable_name: Some(name),
        ack_policy: AckPolicy::Explicit,
        max_deliver: -1,
        max_waiting: MAX_WAITING,
        ..pull::Config::default()
    }
}

fn is_stream_missing(kind: &ConsumerErrorKind) -> bool {
    matches!(kind, ConsumerErrorKind::JetStream(reason) if reason.error_code() == ErrorCode::STREAM_NOT_FOUND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_consumer_per_pool_and_tier_redelivers_for_ever() {
        let consumer = Consumer::work("gpu-1", Tier::Low).unwrap();
        assert_eq!(
            consumer.next.as_str(),
            "$JS.API.CONSUMER.MSG.NEXT.GENGFU_WORK.gpu-1-low"
        );
        assert_eq!(consumer.config.ack_wait, Duration::from_secs(5));
        assert_eq!(consumer.config.max_deliver, -1);
        assert!(consumer.config.max_ack_pending > 0 && consumer.config.max_waiting > 0);
        assert!(Consumer::work("a.b", Tier::Low).is_err());
    }
}
