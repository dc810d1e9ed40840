//! Takes back the tasks of executors that stopped renewing their leases (I4).

use std::{sync::Arc, time::Duration};

use domain::{Partition, Status, TaskId};
use store::{BATCH_MAX, OutboxEntry, Reply, Verdict};

use crate::{
    Town,
    beat::{Duty, Next},
    call::{Verb, in_time},
    error::Error,
    hints::{Hints, Queue},
    ms,
};

/// The duty in one partition.
pub(crate) struct Reclaim {
    partition: Partition,
    verb: Verb,
    hints: Hints,
}

impl Reclaim {
    pub(crate) fn new(town: &Arc<Town>, partition: Partition) -> Self {
        let hints = Hints::new(town.parts.bus.publisher(), partition);
        Self {
            partition,
            verb: Verb::default(),
            hints,
        }
    }

    /// Those that are to run again, and those that are not.
    fn log(&self, reply: &Reply<(TaskId, Verdict)>) {
        let taken = || {
            reply
                .items
                .iter()
                .filter_map(|(_, verdict)| verdict.as_ref().ok())
        };
        let again = taken().filter(|(status, _)| *status == Status::Pending).count();
        let ended = taken().count() - again;
        if again + ended > 0 {
            tracing::warn!(
                partition = self.partition,
                again,
                ended,
                "leases expired, tasks taken back"
            );
        }
    }
}

impl Duty for Reclaim {
    const NAME: &'static str = "reclaim";

    fn every(&self, town: &Town) -> Duration {
        town.turns.pace(self.partition, town.config.reclaim_every)
    }

    async fn step(&mut self, town: &Town) -> Result<Next, Error> {
        let nonce = self.verb.nonce()?;
        let lease_ms = ms(town.config.lease);
        let call = town
            .parts
            .store
            .reclaim(self.partition, nonce, &town.origin, lease_ms);
        let reply = in_time(call).await;
        if let Ok(reply) = &reply {
            self.verb.answered();
            self.log(reply);
            self.hints.owe(reply.outbox.iter().flat_map(ready_again));
        }
        self.hints.send().await;
        let reply = reply?;
        town.parts.announcer.announce(reply.outbox);
        // A refused one would be refused again at once.
        let full = reply.items.len() >= BATCH_MAX && reply.items.iter().any(|(_, verdict)| verdict.is_ok());
        Ok(if full { Next::Now } else { Next::Later })
    }
}

/// The queues into which tasks went back.
fn ready_again(entry: &OutboxEntry) -> impl Iterator<Item = Queue> + '_ {
    let pending = entry.events.iter().filter(|event| event.to == Status::Pending);
    pending.map(|event| (event.pool.clone(), event.tier, event.task_type.clone()))
}
