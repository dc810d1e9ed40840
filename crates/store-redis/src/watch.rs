//! What the watchman's tools read: leases, pauses of types, what runs and how long runs usually take.

use std::collections::BTreeMap;

use async_trait::async_trait;
use domain::{Partition, RunTimes, TaskId};
use redis::{Value as Answer, pipe};
use store::{Error, LeaseView, RunningTasks, TypePause, WatchStore};

use crate::connect::RedisStore;
use crate::keys::{Keys, control};
use crate::pack::{Packer, unpack};
use crate::queue::id_of;
use crate::read::member;
use crate::record::DAY_MS;

#[async_trait]
impl WatchStore for RedisStore {
    async fn lease(&self, id: TaskId) -> Result<Option<LeaseView>, Error> {
        let partition = id.partition(self.partitions);
        let Some(task) = self.record_of(id).await? else {
            return Ok(None);
        };
        let keys = Keys::of(partition);
        let mut pipeline = pipe();
        pipeline.cmd("ZSCORE").arg(keys.named("lease")).arg(member(&task));
        pipeline.cmd("HGET").arg(keys.named("m")).arg("lease");
        let (ends_at, length_ms): (Option<f64>, Option<i64>) = self.ask_all(&pipeline).await?;
        let now = self.clock().await?;
        #[allow(clippy::cast_possible_truncation)]
        Ok(ends_at.map(|ends_at| LeaseView {
            ends_at: ends_at as i64,
            length_ms: length_ms.unwrap_or(0),
            now,
        }))
    }

    async fn pauses(&self) -> Result<BTreeMap<String, TypePause>, Error> {
        let found: Vec<(String, Vec<u8>)> = self.ask(redis::cmd("HGETALL").arg(control("pauses"))).await?;
        let read = |(name, packed): (String, Vec<u8>)| {
            let kept = unpack(&packed)?;
            let pause = TypePause {
                by: kept.at(0)?.text()?,
                reason: kept.at(1)?.text()?,
                since: kept.at(2)?.int()?,
                all: kept.at(3)?.int()? == 1,
            };
            Ok((name, pause))
        };
        found.into_iter().map(read).collect()
    }

    async fn note_pauses(&self, pauses: &[(String, Option<TypePause>)]) -> Result<(), Error> {
        let mut pipeline = pipe();
        for (name, pause) in pauses {
            match pause {
                Some(pause) => {
                    let packed = Packer::new()
                        .text(&pause.by)
                        .text(&pause.reason)
                        .int(pause.since)
                        .int(pause.all.into())
                        .end();
                    let set = pipeline.cmd("HSETNX").arg(control("pauses"));
                    set.arg(name).arg(packed);
                }
                None => drop(pipeline.cmd("HDEL").arg(control("pauses")).arg(name)),
            }
        }
        self.ask_all::<Vec<Answer>>(&pipeline).await.map(drop)
    }

    async fn running(&self, partition: Partition, skip: usize) -> Result<RunningTasks, Error> {
        let keys = Keys::of(partition);
        let mut range = redis::cmd("ZRANGE");
        range
            .arg(keys.named("lease"))
            .arg(skip)
            .arg(skip + store::BATCH_MAX - 1);
        let members: Vec<Vec<u8>> = self.ask(&range).await?;
        let ids: Vec<_> = members
            .iter()
            .map(|member| id_of(member))
            .collect::<Result<_, _>>()?;
        let records = self.records(partition, &ids).await?;
        Ok(RunningTasks {
            now: self.clock().await?,
            items: records.into_iter().flatten().collect(),
            more: ids.len() == store::BATCH_MAX,
        })
    }

    async fn run_times(&self) -> Result<BTreeMap<String, RunTimes>, Error> {
        let today = self.clock().await? / DAY_MS;
        let mut all: BTreeMap<String, RunTimes> = BTreeMap::new();
        for partition in 0..self.partitions {
            let key = Keys::of(partition).named("rt");
            let found: Vec<(String, Vec<u8>)> = self.ask(redis::cmd("HGETALL").arg(key)).await?;
            for (field, packed) in found {
                let Some((task_type, day)) = field.rsplit_once('|') else {
                    continue;
                };
                if day.parse().unwrap_or(0) < today - 1 {
                    continue;
                }
                let times = all.entry(task_type.to_owned()).or_default();
                for pair in unpack(&packed)?.list()?.chunks_exact(2) {
                    let bucket = u8::try_from(pair[0].int()?).unwrap_or(u8::MAX);
                    times.add(bucket, u64::try_from(pair[1].int()?).unwrap_or(0));
                }
            }
        }
        Ok(all)
    }
}
