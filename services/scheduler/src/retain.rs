//! Removes what is old enough: terminal tasks that are recorded, and records of planned instants.

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
pub(crate) struct Retain {
    walk: Walk,
    tasks: Verb,
    triggers: Verb,
}

impl Retain {
    pub(crate) fn new(partitions: u16) -> Self {
        Self {
            walk: Walk::new(partitions),
            tasks: Verb::default(),
            triggers: Verb::default(),
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
        let (store, config) = (&town.parts.store, &town.config);
        let nonce = self.tasks.nonce()?;
        let tasks = in_time(store.retain(partition, nonce, &config.retention)).await?;
        self.tasks.answered();
        let nonce = self.triggers.nonce()?;
        let triggers = in_time(store.retain_triggers(partition, nonce, ms(config.triggers_age))).await?;
        self.triggers.answered();
        if tasks.tasks + triggers.tasks > 0 {
            let records = triggers.tasks;
            tracing::debug!(
                partition,
                tasks = tasks.tasks,
                records,
                "old tasks and trigger records removed"
            );
        }
        if tasks.more || triggers.more {
            return Ok(Next::Now);
        }
        self.walk.go_on();
        Ok(Next::Later)
    }
}
