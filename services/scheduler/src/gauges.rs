//! Sets the gauges of the whole fleet. One process at a time exports them, so that `sum()` is right.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use domain::{Millis, Status, Tier};
use store::{PartitionStats, QueueStats};
use telemetry::Metrics;

use crate::{
    Town,
    beat::{Duty, Next},
    call::in_time,
    error::Error,
    ms,
};

/// The duty, and whether this process has it.
#[derive(Debug, Default)]
pub(crate) struct Gauges {
    exports: bool,
}

impl Duty for Gauges {
    const NAME: &'static str = "gauges";

    fn every(&self, town: &Town) -> Duration {
        town.config.gauges_every
    }

    async fn step(&mut self, town: &Town) -> Result<Next, Error> {
        let ttl = town.config.gauges_every * 3;
        let has = in_time(town.parts.store.hold("gauges", town.turns.owner(), ms(ttl))).await;
        if self.exports && !matches!(has, Ok(true)) {
            // Another exports them soon; the same numbers from two would be summed.
            town.parts.metrics.clear_fleet();
            self.exports = false;
        }
        if has? {
            let fleet = gather(town).await?;
            fleet.show(&town.parts.metrics);
            self.exports = true;
        }
        Ok(Next::Later)
    }
}

async fn gather(town: &Town) -> Result<Fleet, Error> {
    let store = &town.parts.store;
    let (_, types) = in_time(store.types()).await?;
    let pools: BTreeSet<String> = types.iter().map(|spec| spec.pool.clone()).collect();
    let pools: Vec<String> = pools.into_iter().collect();
    let mut fleet = Fleet::default();
    for spec in types {
        fleet.types.insert(spec.name, BTreeMap::new());
    }
    for partition in 0..store.partitions() {
        let stats = in_time(store.stats(partition)).await?;
        let queues = in_time(store.queues(partition, &pools)).await?;
        fleet.add(&stats, &queues);
    }
    Ok(fleet)
}

/// Sums over all partitions.
#[derive(Debug, Default)]
struct Fleet {
    types: BTreeMap<String, BTreeMap<Status, u64>>,
    /// The most attempts of one task.
    attempts_max: BTreeMap<String, u32>,
    /// Ready tasks, and how long the oldest has waited.
    queues: BTreeMap<(String, Tier), (u64, Millis)>,
}

impl Fleet {
    fn add(&mut self, stats: &PartitionStats, queues: &[QueueStats]) {
        for ((task_type, status), tasks) in &stats.by_type {
            let by_status = self.types.entry(task_type.clone()).or_default();
            *by_status.entry(*status).or_default() += tasks;
        }
        for (task_type, most) in &stats.attempts_max {
            let known = self.attempts_max.entry(task_type.clone()).or_default();
            *known = (*known).max(*most);
        }
        for queue in queues {
            let (ready, waited) = self.queues.entry((queue.pool.clone(), queue.tier)).or_default();
            *ready += queue.ready;
            if queue.oldest > 0 {
                *waited = (*waited).max(stats.now - queue.oldest);
            }
        }
    }

    fn show(&self, metrics: &Metrics) {
        for (task_type, by_status) in &self.types {
            let tasks = |status| by_status.get(&status).map_or(0, |tasks| gauge(*tasks));
            metrics.set_running(task_type, tasks(Status::Running));
            metrics.set_waiting(task_type, Status::Pending.as_str(), tasks(Status::Pending));
            metrics.set_waiting(task_type, Status::Retrying.as_str(), tasks(Status::Retrying));
            metrics.set_dead(task_type, tasks(Status::Dead));
            let most = self.attempts_max.get(task_type).copied().unwrap_or(0);
            metrics.set_attempts_max(task_type, most.into());
        }
        for ((pool, tier), (ready, waited)) in &self.queues {
            metrics.set_ready(pool, *tier, gauge(*ready));
            metrics.set_oldest_ready(pool, *tier, *waited as f64 / 1_000.0);
        }
    }
}

fn gauge(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_are_summed_and_the_oldest_counts() {
        let stats = |now, running| PartitionStats {
            by_type: BTreeMap::from([
                (("a".to_owned(), Status::Running), running),
                (("a".to_owned(), Status::Retrying), 1),
            ]),
            attempts_max: BTreeMap::from([("a".to_owned(), u32::try_from(running).unwrap() + 1)]),
            now,
            ..PartitionStats::default()
        };
        let queue = |ready, oldest| QueueStats {
            pool: "p".into(),
            tier: Tier::Low,
            ready,
            oldest,
        };
        let mut fleet = Fleet::default();
        fleet.types.insert("idle".into(), BTreeMap::new());
        fleet.add(&stats(10_000, 2), &[queue(3, 9_000)]);
        fleet.add(&stats(10_000, 1), &[queue(1, 4_000)]);
        fleet.add(&stats(10_000, 0), &[queue(0, 0)]);
        let metrics = Metrics::new();
        fleet.show(&metrics);
        let text = metrics.render();
        for line in [
            r#"gengfu_running_tasks{type="a"} 3"#,
            r#"gengfu_running_tasks{type="idle"} 0"#,
            r#"gengfu_ready_tasks{pool="p",tier="low"} 4"#,
            r#"gengfu_oldest_ready_seconds{pool="p",tier="low"} 6.0"#,
            r#"gengfu_dead_tasks{type="a"} 0"#,
            r#"gengfu_waiting_tasks{type="a",state="retrying"} 3"#,
            r#"gengfu_waiting_tasks{type="a",state="pending"} 0"#,
            r#"gengfu_attempts_max{type="a"} 3"#,
            r#"gengfu_attempts_max{type="idle"} 0"#,
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }
}
