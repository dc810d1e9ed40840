//! Removes terminal tasks that are old enough and recorded.

use std::time::Duration;

use crate::{
    Town,
    beat::{Duty, Next},
    call::{Verb, in_time},
    error::Error,
    walk::Walk,
};

/// The duty in all partitions, one after the other.
pub(crate) struct Retain {
    walk: Walk,
    verb: Verb,
}

impl Retain {
    pub(crate) fn new(partitions: u16) -> Self {
        Self {
            walk: Walk::new(partitions),
            verb: Verb::default(),
        }
    }
}

impl Duty for Retain {
    const NAME: &'static str = "retain";

    fn every(&self, town: &Town) -> Duration {
        self.walk.rest(town.config.retain_every)
    }

    async fn step(&mut self, town: &Town) -> Result<Next, Error> {
        let Some(partition) = self.walk.here(&town.turns) else {
            self.walk.go_on();
            return Ok(Next::Later);
        };
        let nonce = self.verb.nonce()?;
        let removed = in_time(town.parts.store.retain(partition, nonce, &town.config.retention)).await?;
        self.verb.answered();
        if removed.tasks > 0 {
            tracing::debug!(partition, tasks = removed.tasks, "old tasks removed");
        }
        if removed.more {
            return Ok(Next::Now);
        }
        self.walk.go_on();
        Ok(Next::Later)
    }
}
