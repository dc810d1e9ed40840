//! Publishes events again that stayed in the outbox: of a process that died, of a time without NATS, or for want of
//! room.

use std::time::Duration;

use domain::Partition;

use crate::{
    Town,
    beat::{Duty, Next},
    call::in_time,
    error::Error,
    ms,
};

/// Entries of one step.
const LIMIT: usize = 256;

/// The duty in one partition.
pub(crate) struct Outbox {
    partition: Partition,
}

impl Outbox {
    pub(crate) const fn new(partition: Partition) -> Self {
        Self { partition }
    }
}

impl Duty for Outbox {
    const NAME: &'static str = "outbox";

    fn every(&self, town: &Town) -> Duration {
        town.config.outbox_every
    }

    async fn step(&mut self, town: &Town) -> Result<Next, Error> {
        if !town.turns.has(self.partition) || !town.parts.bus.is_ready() {
            return Ok(Next::Later);
        }
        let store = &town.parts.store;
        let entries = in_time(store.outbox(self.partition, ms(town.config.outbox_age), LIMIT)).await?;
        if entries.is_empty() {
            return Ok(Next::Later);
        }
        let found = entries.len();
        let mut removed = 0;
        for (partition, ids) in town.parts.announcer.republish(entries).await? {
            in_time(store.outbox_remove(partition, &ids)).await?;
            removed += ids.len();
        }
        tracing::info!(
            partition = self.partition,
            entries = removed,
            "events of the outbox published again"
        );
        Ok(if removed == found && found == LIMIT {
            Next::Now
        } else {
            Next::Later
        })
    }
}
