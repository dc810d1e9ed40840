//! Counts.

use domain::{Status, TaskId, Tier};

use super::shard::Shard;
use crate::{BatchCounts, PartitionStats, QueueStats};

impl Shard {
    pub(super) fn stats(&self, clock: i64) -> PartitionStats {
        let mut stats = PartitionStats {
            delayed: self.due.len() as u64,
            dispatched: self.dispatched.len() as u64,
            running: self.leases.len() as u64,
            outbox: self.outbox.len() as u64,
            now: clock.max(self.now),
            ..PartitionStats::default()
        };
        for record in self.records.values() {
            let at = (record.task.task_type.clone(), record.task.status);
            *stats.by_type.entry(at).or_default() += 1;
        }
        stats
    }

    pub(super) fn queues(&self, pools: &[String]) -> Vec<QueueStats> {
        let lines = pools
            .iter()
            .flat_map(|pool| Tier::ALL.map(|tier| (pool.clone(), tier)));
        lines
            .map(|at| {
                let line = self.lines.get(&at);
                let (pool, tier) = at;
                QueueStats {
                    pool,
                    tier,
                    ready: line.map_or(0, super::queue::Line::ready),
                    oldest: line.map_or(0, super::queue::Line::oldest),
                }
            })
            .collect()
    }

    /// Adds this partition's tasks of a batch, those that were removed too.
    pub(super) fn add_batch(&self, batch: TaskId, counts: &mut BatchCounts) {
        let mut add = |status: Status, by: u64| {
            counts.total += by;
            *counts.by_status.entry(status.as_str()).or_default() += by;
        };
        let living = self
            .records
            .values()
            .filter(|record| record.task.batch_id == Some(batch));
        living.for_each(|record| add(record.task.status, 1));
        let gone = self.batch_gone.iter().filter(|((of, _), _)| *of == batch);
        gone.for_each(|((_, status), by)| add(*status, *by));
    }
}
