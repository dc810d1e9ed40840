//! The counters of the store against the picture of tasks (I9).

use std::collections::BTreeMap;

use domain::{Partition, Status};
use store::{PartitionStats, QueueStats};

use super::Check;

impl Check {
    /// Counters equal what they count, and every task that waits stands in one index.
    pub(crate) fn counts(
        &mut self,
        partition: Partition,
        partitions: u16,
        stats: &PartitionStats,
        queues: &[QueueStats],
    ) {
        let mut expected: BTreeMap<(String, Status), u64> = BTreeMap::new();
        for (id, seen) in &self.tasks {
            if id.partition(partitions) == partition {
                *expected.entry((seen.task_type.clone(), seen.status)).or_default() += 1;
            }
        }
        let counted: BTreeMap<_, _> = stats
            .by_type
            .iter()
            .filter(|(_, count)| **count > 0)
            .map(|(key, count)| (key.clone(), *count))
            .collect();
        if counted != expected {
            self.say(
                "I9",
                format!("partition {partition} counts {counted:?}, there are {expected:?}"),
            );
        }
        let of = |wanted: fn(Status) -> bool| -> u64 {
            let fits = expected.iter().filter(|((_, status), _)| wanted(*status));
            fits.map(|(_, count)| count).sum()
        };
        let ready: u64 = queues.iter().map(|queue| queue.ready).sum();
        let waiting = of(Status::is_claimable);
        let indexed = stats.delayed + stats.dispatched + ready;
        if waiting != indexed {
            self.say(
                "I9",
                format!("{waiting} tasks wait in partition {partition}, {indexed} stand in an index"),
            );
        }
        let running = of(|status| status == Status::Running);
        if stats.running != running {
            self.say(
                "I4",
                format!(
                    "{running} tasks run in partition {partition}, {} leases",
                    stats.running
                ),
            );
        }
    }
}
