//! Whether the store is the one whose events the stream holds: asked at the start and all along.
//!
//! | store | events stream | so it is |
//! |---|---|---|
//! | no epoch | no epoch | a new town |
//! | no epoch | an epoch | a store that lost its data |
//! | an epoch | the same | the right one |
//! | an epoch | none | the right one; the stream is new |
//! | an epoch | another | another store |

use std::sync::Arc;

use messaging::Bus;
use store::{Epoch, PlanStore, Standing};

use crate::chain;

/// Why the store is not to be used now.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// It is lost, and how that shows: only `gengfu restore` helps.
    Lost(String),
    /// It is not known yet: something does not answer.
    Unknown(String),
}

/// Watches over one store.
pub(crate) struct Watch {
    store: Arc<dyn PlanStore>,
    bus: Bus,
    /// The epoch that was last found right.
    known: Option<Epoch>,
    /// The events stream, by its creation, that has this epoch.
    told: Option<i64>,
}

impl Watch {
    pub(crate) fn new(store: Arc<dyn PlanStore>, bus: Bus) -> Self {
        Self {
            store,
            bus,
            known: None,
            told: None,
        }
    }

    /// Looks once, and tells the store what was found.
    pub(crate) async fn look(&mut self) -> Result<(), Doubt> {
        match self.judge().await {
            Ok(epoch) => {
                if self.known.as_ref() != Some(&epoch) || self.store.condemned().is_some() {
                    self.store.adopt(&epoch);
                    self.known = Some(epoch);
                }
                Ok(())
            }
            Err(doubt) => {
                if let Doubt::Lost(why) = &doubt {
                    self.store.condemn(why);
                }
                Err(doubt)
            }
        }
    }

    async fn judge(&mut self) -> Result<Epoch, Doubt> {
        match self.store.standing().await {
            Ok(Standing::Whole(epoch)) => self.confirm(epoch).await,
            Ok(Standing::Torn(why)) => Err(Doubt::Lost(why)),
            Ok(Standing::New) if self.known.is_some() => Err(Doubt::Lost("the store is empty".into())),
            Ok(Standing::New) => self.begin().await,
            Err(error) => Err(Doubt::Unknown(chain(&error))),
        }
    }

    /// A store without an epoch that this process never saw with one.
    async fn begin(&mut self) -> Result<Epoch, Doubt> {
        if let Some(epoch) = self.streams_epoch().await? {
            let why = format!("the store is empty, but the events stream is that of epoch {epoch}");
            return Err(Doubt::Lost(why));
        }
        let mut random = [0; 8];
        getrandom::fill(&mut random)
            .map_err(|error| Doubt::Unknown(format!("this host gives no randomness: {error}")))?;
        let epoch = self.store.found(&Epoch::new(random)).await;
        let epoch = epoch.map_err(|error| Doubt::Unknown(chain(&error)))?;
        tracing::info!(%epoch, "a new town begins");
        self.confirm(epoch).await
    }

    /// Compares a whole store with the stream. Where NATS is away the epoch that is known is trusted meanwhile, and the
    /// first one of a process too.
    async fn confirm(&mut self, epoch: Epoch) -> Result<Epoch, Doubt> {
        let same = self.known.as_ref().is_none_or(|known| *known == epoch);
        let stream = self.bus.events_created_ms().filter(|_| self.bus.is_ready());
        if same && (stream.is_none() || stream == self.told) {
            return Ok(epoch);
        }
        match self.streams_epoch().await {
            Ok(Some(told)) if told != epoch.as_str() => {
                let why = format!("the store has epoch {epoch}, the events stream is that of epoch {told}");
                return Err(Doubt::Lost(why));
            }
            Ok(Some(_)) => {}
            Ok(None) => {
                let kept = self.bus.keep_epoch(epoch.as_str()).await;
                kept.map_err(|error| Doubt::Unknown(chain(&error)))?;
            }
            Err(_) if same => return Ok(epoch),
            Err(doubt) => return Err(doubt),
        }
        self.told = stream;
        Ok(epoch)
    }

    async fn streams_epoch(&self) -> Result<Option<String>, Doubt> {
        self.bus.epoch().await.map_err(|error| {
            let why = chain(&error);
            Doubt::Unknown(format!(
                "NATS has to say whether this store is the right one: {why}"
            ))
        })
    }
}

impl std::fmt::Display for Doubt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Lost(why) => store::Error::Lost(why.clone()).fmt(f),
            Self::Unknown(why) => f.write_str(why),
        }
    }
}
