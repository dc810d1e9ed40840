//! Makes tasks ready whose time came, and those again whose hint grew old.

use std::{sync::Arc, time::Duration};

use domain::Partition;

use crate::{
    Town,
    beat::{Duty, Next},
    call::{Verb, in_time},
    error::Error,
    hints::Hints,
};

/// The duty in one partition.
pub(crate) struct ReleaseDue {
    partition: Partition,
    verb: Verb,
    hints: Hints,
}

impl ReleaseDue {
    pub(crate) fn new(town: &Arc<Town>, partition: Partition) -> Self {
        let hints = Hints::new(town.parts.bus.publisher(), partition);
        Self {
            partition,
            verb: Verb::default(),
            hints,
        }
    }
}

impl Duty for ReleaseDue {
    const NAME: &'static str = "release_due";

    fn every(&self, town: &Town) -> Duration {
        town.turns.pace(self.partition, town.config.release_every)
    }

    async fn step(&mut self, town: &Town) -> Result<Next, Error> {
        let nonce = self.verb.nonce()?;
        let released = in_time(town.parts.store.release_due(self.partition, nonce)).await;
        if let Ok(released) = &released {
            self.verb.answered();
            self.hints.owe(released.queues.iter().cloned());
        }
        self.hints.send().await;
        let released = released?;
        if released.count > 0 {
            tracing::debug!(partition = self.partition, tasks = released.count, "made ready");
        }
        Ok(if released.more { Next::Now } else { Next::Later })
    }
}
