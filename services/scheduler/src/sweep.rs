//! Compares indices and counters with the records, a slice at a time, and has mended what differs (I9).

use std::time::Duration;

use crate::{
    Town,
    beat::{Duty, Next},
    call::{Verb, in_time},
    error::Error,
    walk::Walk,
};

/// The duty in all partitions, one after the other.
pub(crate) struct Sweep {
    walk: Walk,
    verb: Verb,
}

impl Sweep {
    pub(crate) fn new(partitions: u16) -> Self {
        Self {
            walk: Walk::new(partitions),
            verb: Verb::default(),
        }
    }
}

impl Duty for Sweep {
    const NAME: &'static str = "sweep";

    fn every(&self, town: &Town) -> Duration {
        self.walk.rest(town.config.sweep_every)
    }

    async fn step(&mut self, town: &Town) -> Result<Next, Error> {
        if let Some(partition) = self.walk.here(&town.turns) {
            let mended = in_time(town.parts.store.sweep(partition, self.verb.nonce()?)).await?;
            self.verb.answered();
            for (invariant, times) in mended.into_iter().filter(|(_, times)| *times > 0) {
                town.parts.metrics.repaired(invariant, times);
                tracing::warn!(partition, invariant, times, "mended what broke an invariant");
            }
        }
        self.walk.go_on();
        Ok(Next::Later)
    }
}
