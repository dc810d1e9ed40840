//! Stores a part of a batch: bounded calls side by side, each played until it is answered.

use std::collections::HashSet;
use std::time::Duration;

use domain::{Partition, Tier};
use futures::{StreamExt, stream};
use handler::{HandlerError, TaskContext};
use proto::ReadyHint;
use store::{AdmitCall, Admitted, Hint, NewTask, admit_calls};

use super::{Emitter, changed, unanswered};

/// Calls that run side by side.
const CALLS_AT_ONCE: usize = 8;

impl Emitter {
    /// Stores rows; one that is stored already stays as it is. Where the store is away or full it waits.
    pub(super) async fn submit(&self, ctx: &TaskContext, tasks: Vec<NewTask>) -> Result<(), HandlerError> {
        let calls = admit_calls(tasks, self.executor.parts.store.partitions());
        let limit = ctx.run_timeout();
        let mut running = stream::iter(calls)
            .map(|call| self.call(call, limit))
            .buffer_unordered(CALLS_AT_ONCE);
        while let Some(stored) = running.next().await {
            stored?;
        }
        Ok(())
    }

    async fn call(&self, call: AdmitCall, limit: Duration) -> Result<(), HandlerError> {
        let AdmitCall { partition, tasks, .. } = call;
        let parts = &self.executor.parts;
        let origin = &self.executor.origin;
        let play = |nonce| parts.store.admit(partition, nonce, origin, &tasks);
        let reply = store::playing::answered(limit, play).await.map_err(unanswered)?;
        parts.announcer.announce_admitted(reply.outbox, &tasks);
        let mut ready = HashSet::new();
        for (task, answer) in tasks.iter().zip(&reply.items) {
            match answer {
                Admitted::Created { hint, .. } => {
                    parts.metrics.submitted(&task.task_type, "fan_out");
                    if *hint == Hint::Ready {
                        ready.insert((task.pool.as_str(), task.tier, task.task_type.as_str()));
                    }
                }
                Admitted::Existing { .. } => {}
                Admitted::Conflict { .. } => {
                    let line = task.batch_row;
                    return Err(changed(format!("line {line} was stored with another content")));
                }
            }
        }
        for (pool, tier, task_type) in ready {
            self.hint_ready(partition, pool, tier, task_type).await;
        }
        Ok(())
    }

    /// Where it is lost the dispatchers' own looks find the tasks.
    async fn hint_ready(&self, partition: Partition, pool: &str, tier: Tier, task_type: &str) {
        let hint = ReadyHint {
            partition: partition.into(),
            pool: pool.to_owned(),
            tier: tier as u32,
            task_type: task_type.to_owned(),
        };
        let publisher = self.executor.parts.bus.publisher();
        if let Err(error) = publisher.publish_ready(&hint).await {
            tracing::debug!(%error, "a ready hint was not sent");
        }
    }
}
