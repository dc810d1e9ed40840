//! Ready hints: a queue that was empty has a task.

use std::sync::Arc;

use domain::{Partition, Tier};
use proto::ReadyHint;
use runtime::Shutdown;

use crate::{Dispatcher, waiting::Line};

/// Most hints taken at a time.
const BATCH: usize = 256;

pub(crate) async fn run(dispatcher: Arc<Dispatcher>, shutdown: Shutdown) {
    let mut hints = dispatcher.parts.bus.ready_hints();
    while let Some(batch) = shutdown.or_stop(hints.next_batch(BATCH)).await {
        for message in batch {
            hear(&dispatcher, &message.hint);
            let _ = message.ack().await;
        }
    }
    hints.close().await;
}

/// Notes the queue that a hint names; a hint that names none is worth nothing.
pub(crate) fn hear(dispatcher: &Dispatcher, hint: &ReadyHint) {
    let tier = u8::try_from(hint.tier).ok().and_then(Tier::from_u8);
    let partition = Partition::try_from(hint.partition)
        .ok()
        .filter(|p| *p < dispatcher.parts.store.partitions());
    if let (Some(tier), Some(partition)) = (tier, partition) {
        let line = Line {
            pool: hint.pool.clone(),
            tier,
            partition,
        };
        dispatcher.waiting.add(line, [hint.task_type.clone()]);
    }
}
