//! The store in memory: the same answers as a real one, by `domain::decide` alone.
//!
//! It is the oracle of the conformance suite and a store for tests of services. Nothing survives it.

mod admit;
mod audit;
mod batch;
mod claim;
mod clock;
mod control;
mod dispatch;
mod due;
mod epoch;
mod finish;
mod list;
mod nonces;
mod operate;
mod plan;
mod queue;
mod read;
mod record;
mod retain;
mod shard;
mod store_impl;
#[cfg(test)]
mod tests;
mod watch;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use domain::{Millis, Partition, TaskId, TypeSpec};

pub use clock::Clock;
#[cfg(any(test, feature = "suite"))]
pub(crate) use operate::event;
use shard::Shard;

use crate::{BATCH_MAX, Calendar, Epoch, Error, Nonce, Reply, TypePause};

/// A store in memory.
#[derive(Debug)]
pub struct Model {
    clock: Clock,
    partitions: u16,
    state: Mutex<State>,
    known: Mutex<epoch::Known>,
}

#[derive(Debug, Default)]
struct State {
    epoch: Option<Epoch>,
    shards: Vec<Shard>,
    types: BTreeMap<String, TypeSpec>,
    types_version: u64,
    pauses: BTreeMap<String, TypePause>,
    calendars: BTreeMap<String, Calendar>,
    calendars_version: u64,
    /// Owner and end of the duties' leases.
    holds: HashMap<String, (String, Millis)>,
}

impl Model {
    /// An empty store of so many partitions (at least one) on this clock.
    #[must_use]
    pub fn new(partitions: u16, clock: Clock) -> Self {
        let partitions = partitions.max(1);
        let model = Self {
            clock,
            partitions,
            state: Mutex::default(),
            known: Mutex::default(),
        };
        model.lose();
        model.begin();
        model
    }

    /// A faulty one: a task that was dispatched waits for its claim for ever.
    #[cfg(feature = "mutations")]
    #[must_use]
    pub fn without_dispatch_lease(self) -> Self {
        for shard in &mut self.state().shards {
            shard.dispatch_lease_ms = Millis::MAX / 4;
        }
        self
    }

    /// Its clock.
    #[must_use]
    pub const fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Writes of a partition that were refused because their lease was lost (I3).
    #[must_use]
    pub fn refused_writes(&self, partition: Partition) -> u64 {
        self.state()
            .shards
            .get(usize::from(partition))
            .map_or(0, |shard| shard.refused)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does `act` to one partition.
    fn on<T>(
        &self,
        partition: Partition,
        act: impl FnOnce(&mut Shard) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut state = self.state();
        self.refuse_lost(&state)?;
        let shard = state
            .shards
            .get_mut(usize::from(partition))
            .ok_or_else(|| Error::Corrupt(format!("there is no partition {partition}")))?;
        act(shard)
    }

    /// Plays a verb once: a repeat gets the first answer (I12).
    fn once<T: Clone + Send + 'static>(
        &self,
        partition: Partition,
        nonce: Nonce,
        act: impl FnOnce(&mut Shard) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let clock = self.clock.now();
        self.on(partition, |shard| {
            if let Some(first) = shard.nonces.first::<T>(&nonce)? {
                return Ok(first);
            }
            shard.begin(clock);
            let answer = act(shard)?;
            shard.nonces.keep(nonce, answer.clone());
            Ok(answer)
        })
    }

    /// Plays a verb that makes events. A repeat does not announce again what was already removed from the outbox.
    fn replied<T: Clone + Send + 'static>(
        &self,
        partition: Partition,
        nonce: Nonce,
        act: impl FnOnce(&mut Shard) -> Result<Vec<T>, Error>,
    ) -> Result<Reply<T>, Error> {
        let mut reply = self.once(partition, nonce, |shard| {
            let items = act(shard)?;
            Ok(shard.reply(items))
        })?;
        let waiting = self.on(partition, |shard| Ok(shard.waiting(reply.outbox.as_ref())))?;
        reply.outbox = reply.outbox.filter(|_| waiting);
        Ok(reply)
    }

    /// Refuses a call that is too large or holds tasks of another partition.
    fn check(&self, partition: Partition, ids: impl ExactSizeIterator<Item = TaskId>) -> Result<(), Error> {
        if ids.len() > BATCH_MAX {
            let count = ids.len();
            return Err(Error::Corrupt(format!("{count} tasks in one call")));
        }
        for id in ids {
            if id.partition(self.partitions) != partition {
                return Err(Error::Corrupt(format!(
                    "task {id} is not of partition {partition}"
                )));
            }
        }
        Ok(())
    }
}
