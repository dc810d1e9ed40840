//! Whether NATS can be used right now. An epoch ends whenever what the server holds may have changed: after a
//! reconnect, or when a stream or consumer was missed. Whoever relies on streams or consumers checks them once an epoch.

use std::sync::Arc;

use tokio::sync::{Notify, watch};

use crate::{Error, error::SharedError};

/// Whether NATS can be used.
#[derive(Debug, Clone)]
pub enum State {
    /// There is no connection; attempts go on for ever.
    Away,
    /// Connected; streams are being checked. Holds why that did not work so far, if it did not.
    Preparing(Option<SharedError>),
    /// Connected, and all streams are as they should be.
    Ready,
    /// Connected to a server that cannot be used until somebody changes it or the configuration.
    Unusable(SharedError),
}

impl State {
    /// Whether messages pass.
    #[must_use]
    pub const fn is_ready(&self) -> bool {
        matches!(self, Self::Ready)
    }

    /// One sentence for `/readyz`; none where all is well.
    #[must_use]
    pub fn reason(&self) -> Option<String> {
        match self {
            Self::Ready => None,
            Self::Away => Some("NATS is away".to_owned()),
            Self::Preparing(None) => Some("NATS is connected, streams are being checked".to_owned()),
            Self::Preparing(Some(error)) | Self::Unusable(error) => Some(error.chain()),
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Snapshot {
    pub(crate) epoch: u64,
    pub(crate) state: State,
    /// When the events stream was created, milliseconds since the epoch; 0 before it was first seen.
    pub(crate) events_created_ms: i64,
}

/// What the parts of the bus know of the connection.
#[derive(Debug)]
pub(crate) struct Link {
    now: watch::Sender<Snapshot>,
    /// Wakes the task that tends the connection.
    pub(crate) wake: Notify,
}

impl Link {
    pub(crate) fn new() -> Self {
        let first = Snapshot {
            epoch: 1,
            state: State::Away,
            events_created_ms: 0,
        };
        Self {
            now: watch::Sender::new(first),
            wake: Notify::new(),
        }
    }

    pub(crate) fn watch(&self) -> watch::Receiver<Snapshot> {
        self.now.subscribe()
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        self.now.borrow().clone()
    }

    /// The epoch, if messages pass in it.
    pub(crate) fn ready_epoch(&self) -> Result<u64, Error> {
        let now = self.now.borrow();
        if now.state.is_ready() {
            Ok(now.epoch)
        } else {
            Err(Error::NotReady)
        }
    }

    /// A new connection: everything has to be checked again.
    pub(crate) fn connected(&self) {
        self.now.send_modify(|now| {
            now.epoch += 1;
            now.state = State::Preparing(None);
        });
    }

    /// The connection ended.
    pub(crate) fn away(&self) {
        self.now.send_modify(|now| now.state = State::Away);
    }

    /// A stream or consumer was missed in this epoch: ends it, once.
    pub(crate) fn stale(&self, epoch: u64) {
        let ended = self.now.send_if_modified(|now| {
            let ends = now.epoch == epoch && now.state.is_ready();
            if ends {
                now.epoch += 1;
                now.state = State::Preparing(None);
            }
            ends
        });
        if ended {
            self.wake.notify_one();
        }
    }

    /// All streams were found good. Says nothing where the epoch ended meanwhile.
    pub(crate) fn ready(&self, epoch: u64, events_created_ms: i64) {
        self.now.send_if_modified(|now| {
            let holds = now.epoch == epoch && !matches!(now.state, State::Away);
            if holds {
                now.state = State::Ready;
                now.events_created_ms = events_created_ms;
            }
            holds
        });
    }

    /// The streams could not be checked or mended.
    pub(crate) fn not_ready(&self, epoch: u64, error: Error) {
        let retryable = error.is_retryable();
        let error = Arc::new(error);
        self.now.send_if_modified(|now| {
            let holds = now.epoch == epoch && !matches!(now.state, State::Away);
            if holds {
                now.state = if retryable {
                    State::Preparing(Some(error))
                } else {
                    State::Unusable(error)
                };
            }
            holds
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missed_stream_ends_an_epoch_once() {
        let link = Link::new();
        link.connected();
        let epoch = link.snapshot().epoch;
        link.ready(epoch, 5);
        assert_eq!(link.ready_epoch().unwrap(), epoch);
        link.stale(epoch);
        link.stale(epoch);
        assert_eq!(link.snapshot().epoch, epoch + 1);
        assert!(link.ready_epoch().is_err());
    }

    #[test]
    fn a_late_check_of_an_ended_epoch_counts_for_nothing() {
        let link = Link::new();
        link.connected();
        let old = link.snapshot().epoch;
        link.connected();
        link.ready(old, 5);
        assert!(link.ready_epoch().is_err());
        link.away();
        link.ready(old + 1, 5);
        assert!(matches!(link.snapshot().state, State::Away));
    }

    #[test]
    fn only_what_somebody_must_change_is_unusable() {
        let link = Link::new();
        link.connected();
        let epoch = link.snapshot().epoch;
        link.not_ready(epoch, Error::NotReady);
        assert!(matches!(link.snapshot().state, State::Preparing(Some(_))));
        link.not_ready(epoch, Error::NoJetStream);
        assert!(matches!(link.snapshot().state, State::Unusable(_)));
    }
}
