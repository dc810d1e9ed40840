//! Counts.

use domain::Tier;

use super::record::DAY_MS;
use super::shard::Shard;
use crate::{PartitionStats, QueueStats};

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
        for ((task_type, day), most) in &self.attempts_max {
            if *day >= stats.now.div_euclid(DAY_MS) - 1 {
                let known = stats.attempts_max.entry(task_type.clone()).or_default();
                *known = (*known).max(*most);
            }
        }
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
}
