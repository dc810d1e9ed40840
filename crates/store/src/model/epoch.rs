//! The life of a model, and how a test takes it away.

use std::sync::{MutexGuard, PoisonError};

use super::shard::Shard;
use super::{Model, State};
use crate::{Epoch, Error, Standing};

/// The epoch of a model that nobody took anything from.
const FIRST: [u8; 8] = [1; 8];

/// What the process knows of the store.
#[derive(Debug, Default)]
pub(super) struct Known {
    epoch: Option<Epoch>,
    condemned: Option<String>,
}

impl Model {
    /// Takes everything away, as a `FLUSHALL` does; the process still knows the old epoch.
    pub fn lose(&self) {
        *self.state() = State {
            shards: (0..self.partitions).map(Shard::new).collect(),
            ..State::default()
        };
    }

    /// The first life.
    pub(super) fn begin(&self) {
        let epoch = Epoch::new(FIRST);
        self.state().epoch = Some(epoch.clone());
        self.know(&epoch);
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn refuse_lost(&self, state: &State) -> Result<(), Error> {
        let known = self.known();
        match (&state.epoch, &known.epoch) {
            (Some(epoch), Some(known)) if epoch == known => Ok(()),
            _ => Err(Error::Lost("the model has another epoch or none".into())),
        }
    }

    pub(super) fn stands(&self) -> Standing {
        self.state().epoch.clone().map_or(Standing::New, Standing::Whole)
    }

    pub(super) fn give(&self, epoch: &Epoch) -> Epoch {
        self.state().epoch.get_or_insert_with(|| epoch.clone()).clone()
    }

    pub(super) fn know(&self, epoch: &Epoch) {
        *self.known() = Known {
            epoch: Some(epoch.clone()),
            condemned: None,
        };
    }

    pub(super) fn say_lost(&self, why: &str) {
        self.known().condemned = Some(why.to_owned());
    }

    pub(super) fn said_lost(&self) -> Option<String> {
        self.known().condemned.clone()
    }
}
