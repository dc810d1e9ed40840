//! Ready hints that are owed to the dispatchers of one partition.

use std::collections::BTreeSet;

use domain::{Partition, Tier};
use messaging::Publisher;
use proto::ReadyHint;
use runtime::fault_point;

/// Hints that are kept while NATS is away; what comes on top is left to the dispatchers' own looks.
const OWED_MAX: usize = 1_024;

/// (pool, tier, type) of a queue.
pub(crate) type Queue = (String, Tier, String);

/// Hints that are owed.
#[derive(Debug)]
pub(crate) struct Hints {
    publisher: Publisher,
    partition: Partition,
    owed: BTreeSet<Queue>,
}

impl Hints {
    pub(crate) const fn new(publisher: Publisher, partition: Partition) -> Self {
        Self {
            publisher,
            partition,
            owed: BTreeSet::new(),
        }
    }

    /// These queues have work.
    pub(crate) fn owe(&mut self, queues: impl IntoIterator<Item = Queue>) {
        for queue in queues {
            if self.owed.len() < OWED_MAX {
                self.owed.insert(queue);
            }
        }
    }

    /// Sends what is owed. What can't be sent now stays owed; what can never be sent is dropped with a line.
    pub(crate) async fn send(&mut self) {
        while let Some((pool, tier, task_type)) = self.owed.pop_first() {
            let hint = ReadyHint {
                partition: u32::from(self.partition),
                pool,
                tier: tier as u32,
                task_type,
            };
            fault_point::reach("hint.before_send").await;
            match self.publisher.publish_ready(&hint).await {
                Ok(()) => fault_point::reach("hint.after_send").await,
                Err(error) if error.is_retryable() => {
                    self.owed.insert((hint.pool, tier, hint.task_type));
                    return;
                }
                Err(error) => tracing::error!(%error, pool = hint.pool, "a ready hint can't be sent"),
            }
        }
    }
}
