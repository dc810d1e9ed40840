//! Removes records of planned instants that are old enough.

use std::time::Duration;

use crate::{
    Town,
    beat::{Duty, Next},
    call::{Verb, in_time},
    error::Error,
    ms,
    walk::Walk,
};

/// The duty in all partitions, one after the other.
pub(crate) struct RetainTriggers {
    walk: Walk,
    verb: Verb,
}

impl RetainTriggers {
    pub(crate) fn new(partitions: u16) -> Self {
        Self {
            walk: Walk::new(partitions),
            verb: Verb::default(),
        }
    }
}

impl Duty for RetainTriggers {
    const NAME: &'static str = "retain_triggers";

    fn every(&self, town: &Town) -> Duration {
        self.walk.rest(town.config.retain_every)
    }

    async fn step(&mut self, town: &Town) -> Result<Next, Error> {
        let Some(partition) = self.walk.here(&town.turns) else {
            self.walk.go_on();
            return Ok(Next::Later);
        };
        let nonce = self.verb.nonce()?;
        let age_ms = ms(town.config.triggers_age);
        let removed = in_time(town.parts.store.retain_triggers(partition, nonce, age_ms)).await?;
        self.verb.answered();
        if removed.tasks > 0 {
            tracing::debug!(partition, records = removed.tasks, "old trigger records removed");
        }
        if removed.more {
            return Ok(Next::Now);
        }
        self.walk.go_on();
        Ok(Next::Later)
    }
}
