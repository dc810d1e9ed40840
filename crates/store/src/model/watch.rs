//! What the watchman's tools read.

use std::collections::BTreeMap;

use async_trait::async_trait;
use domain::{Partition, RunTimes, TaskId};

use super::Model;
use super::record::DAY_MS;
use super::shard::Place;
use crate::{BATCH_MAX, Error, LeaseView, RunningTasks, TypePause, WatchStore};

#[async_trait]
impl WatchStore for Model {
    async fn lease(&self, id: TaskId) -> Result<Option<LeaseView>, Error> {
        let clock = self.clock.now();
        self.on(id.partition(self.partitions), |shard| {
            let place = shard.records.get(&id).map(|record| record.place);
            Ok(match place {
                Some(Place::Lease(ends_at)) => Some(LeaseView {
                    ends_at,
                    length_ms: shard.lease_ms,
                    now: clock.max(shard.now),
                }),
                _ => None,
            })
        })
    }

    async fn pauses(&self) -> Result<BTreeMap<String, TypePause>, Error> {
        Ok(self.state().pauses.clone())
    }

    async fn note_pauses(&self, pauses: &[(String, Option<TypePause>)]) -> Result<(), Error> {
        let mut state = self.state();
        for (name, pause) in pauses {
            match pause {
                Some(pause) => drop(state.pauses.entry(name.clone()).or_insert_with(|| pause.clone())),
                None => drop(state.pauses.remove(name)),
            }
        }
        Ok(())
    }

    async fn running(&self, partition: Partition, skip: usize) -> Result<RunningTasks, Error> {
        let clock = self.clock.now();
        self.on(partition, |shard| {
            let leases = shard.leases.iter().skip(skip).take(BATCH_MAX);
            Ok(RunningTasks {
                now: clock.max(shard.now),
                items: leases
                    .filter_map(|(_, id)| Some(shard.records.get(id)?.task.clone()))
                    .collect(),
                more: shard.leases.len() > skip + BATCH_MAX,
            })
        })
    }

    async fn run_times(&self) -> Result<BTreeMap<String, RunTimes>, Error> {
        let today = self.clock.now().div_euclid(DAY_MS);
        let mut all: BTreeMap<String, RunTimes> = BTreeMap::new();
        for shard in &self.state().shards {
            let of_late = shard.run_times.iter().filter(|((_, day), _)| *day >= today - 1);
            for ((task_type, _), times) in of_late {
                all.entry(task_type.clone()).or_default().merge(times);
            }
        }
        Ok(all)
    }
}
