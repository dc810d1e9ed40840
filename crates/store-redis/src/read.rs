//! One task, its timeline, its output; counts.

use std::collections::{BTreeSet, HashSet};

use bytes::Bytes;
use domain::{Partition, SubState, Task, TaskId, Tier, TimelineItem};
use redis::pipe;
use store::{Error, PartitionStats, QueueStats, TaskView};

use crate::connect::RedisStore;
use crate::header::{decode, decode_timeline, status};
use crate::keys::Keys;
use crate::plan_record::live;
use crate::record::DAY_MS;

/// Tasks by type and status; how many are delayed, dispatched, running, and in the outbox; the most attempts.
type Counted = (Vec<(String, i64)>, u64, u64, u64, u64, Vec<(String, u32)>);
type Texts = (Option<Vec<u8>>, Option<Vec<u8>>, Option<Vec<u8>>, Option<Vec<u8>>);

pub(crate) fn member(task: &Task) -> Vec<u8> {
    [
        task.id.as_bytes().as_slice(),
        task.batch_id
            .as_ref()
            .map_or(&[], |batch| batch.as_bytes().as_slice()),
    ]
    .concat()
}

impl RedisStore {
    pub(crate) async fn records(
        &self,
        partition: Partition,
        ids: &[TaskId],
    ) -> Result<Vec<Option<Task>>, Error> {
        let keys = Keys::of(partition);
        let mut pipeline = pipe();
        for id in ids {
            pipeline.cmd("HGET").arg(keys.task(*id)).arg("h");
        }
        let found: Vec<Option<Vec<u8>>> = self.ask_all(&pipeline).await?;
        ids.iter()
            .zip(found)
            .map(|(id, packed)| packed.map(|packed| decode(*id, &packed)).transpose())
            .collect()
    }

    pub(crate) async fn record_of(&self, id: TaskId) -> Result<Option<Task>, Error> {
        Ok(self
            .records(id.partition(self.partitions), &[id])
            .await?
            .pop()
            .flatten())
    }

    /// Tasks of one partition with their texts, in the order of `ids`; those that are gone are left out.
    pub(crate) async fn views(&self, partition: Partition, ids: &[TaskId]) -> Result<Vec<TaskView>, Error> {
        let keys = Keys::of(partition);
        let mut pipeline = pipe();
        for id in ids {
            pipeline
                .cmd("HMGET")
                .arg(keys.task(*id))
                .arg("h")
                .arg("p")
                .arg("r")
                .arg("e");
        }
        let texts: Vec<Texts> = self.ask_all(&pipeline).await?;
        let mut views = Vec::with_capacity(ids.len());
        for (id, (header, payload, result, error)) in ids.iter().zip(texts) {
            let Some(header) = header else { continue };
            views.push(TaskView {
                task: decode(*id, &header)?,
                sub_state: None,
                payload: payload.unwrap_or_default().into(),
                result: result.unwrap_or_default().into(),
                error: String::from_utf8_lossy(&error.unwrap_or_default()).into_owned(),
            });
        }
        self.fill_sub_states(partition, &mut views).await?;
        Ok(views)
    }

    async fn fill_sub_states(&self, partition: Partition, views: &mut [TaskView]) -> Result<(), Error> {
        let keys = Keys::of(partition);
        let mut waiting: Vec<_> = views
            .iter_mut()
            .filter(|view| view.task.status.is_claimable())
            .collect();
        if waiting.is_empty() {
            return Ok(());
        }
        let mut pipeline = pipe();
        for view in &waiting {
            pipeline
                .cmd("ZSCORE")
                .arg(keys.named("disp"))
                .arg(member(&view.task));
        }
        let dispatched: Vec<Option<i64>> = self.ask_all(&pipeline).await?;
        let blocked = self.blocked(partition, &waiting).await?;
        let now = self.clock().await?;
        for (view, dispatched) in waiting.iter_mut().zip(dispatched) {
            view.sub_state = Some(match dispatched {
                Some(_) => SubState::Dispatched,
                None if blocked.contains(&view.task.id) => SubState::Blocked,
                None if view.task.next_run_time > now => SubState::Delayed,
                None => SubState::Ready,
            });
        }
        Ok(())
    }

    /// Those of them that wait for their turn among the tasks of their schedule.
    async fn blocked(
        &self,
        partition: Partition,
        waiting: &[&mut TaskView],
    ) -> Result<HashSet<TaskId>, Error> {
        let names: BTreeSet<_> = waiting
            .iter()
            .map(|view| &view.task.schedule_id)
            .filter(|name| !name.is_empty())
            .collect();
        if names.is_empty() {
            return Ok(HashSet::new());
        }
        let mut command = redis::cmd("HMGET");
        command.arg(Keys::of(partition).named("live"));
        command.arg(names.into_iter().collect::<Vec<_>>());
        let lists: Vec<Option<Vec<u8>>> = self.ask(&command).await?;
        let mut blocked = HashSet::new();
        for packed in lists.into_iter().flatten() {
            blocked.extend(
                live(&packed)?
                    .iter()
                    .filter(|task| task.blocked)
                    .map(|task| task.id),
            );
        }
        Ok(blocked)
    }

    pub(crate) async fn timeline_of(&self, id: TaskId) -> Result<Vec<TimelineItem>, Error> {
        let key = Keys::of(id.partition(self.partitions)).task(id);
        let line: Option<Vec<u8>> = self.ask(redis::cmd("HGET").arg(key).arg("l")).await?;
        decode_timeline(&line.unwrap_or_default())
    }

    pub(crate) async fn output_of(
        &self,
        id: TaskId,
        attempt: Option<u32>,
    ) -> Result<Option<(u32, Bytes)>, Error> {
        let Some(task) = self.record_of(id).await? else {
            return Ok(None);
        };
        let attempt = attempt.unwrap_or(task.attempt);
        let key = Keys::of(id.partition(self.partitions)).task(id);
        let text: Option<Vec<u8>> = self
            .ask(redis::cmd("HGET").arg(key).arg(format!("g{attempt}")))
            .await?;
        Ok(Some((attempt, text.unwrap_or_default().into())))
    }

    pub(crate) async fn partition_stats(&self, partition: Partition) -> Result<PartitionStats, Error> {
        let keys = Keys::of(partition);
        let mut pipeline = pipe();
        pipeline.cmd("HGETALL").arg(keys.named("c"));
        for index in ["due", "disp", "lease"] {
            pipeline.cmd("ZCARD").arg(keys.named(index));
        }
        pipeline.cmd("XLEN").arg(keys.named("o"));
        pipeline.cmd("HGETALL").arg(keys.named("am"));
        let (counters, delayed, dispatched, running, outbox, attempts): Counted =
            self.ask_all(&pipeline).await?;
        let mut stats = PartitionStats {
            delayed,
            dispatched,
            running,
            outbox,
            now: self.clock().await?,
            ..PartitionStats::default()
        };
        for (field, most) in attempts {
            let Some((task_type, day)) = field.rsplit_once('|') else {
                continue;
            };
            if day.parse().unwrap_or(0) >= stats.now / DAY_MS - 1 {
                let known = stats.attempts_max.entry(task_type.to_owned()).or_default();
                *known = most.max(*known);
            }
        }
        for (field, count) in counters {
            let Some((task_type, number)) = field.rsplit_once('|') else {
                continue;
            };
            if let Ok(count @ 1..) = u64::try_from(count) {
                stats.by_type.insert(
                    (task_type.to_owned(), status(number.parse().unwrap_or(0))?),
                    count,
                );
            }
        }
        Ok(stats)
    }

    pub(crate) async fn queue_stats(
        &self,
        partition: Partition,
        pools: &[String],
    ) -> Result<Vec<QueueStats>, Error> {
        let keys = Keys::of(partition);
        let mut stats = Vec::new();
        for pool in pools {
            for tier in Tier::ALL {
                let heads: Vec<(String, i64)> = self
                    .ask(
                        redis::cmd("ZRANGE")
                            .arg(keys.heads(pool, tier))
                            .arg(0)
                            .arg(-1)
                            .arg("WITHSCORES"),
                    )
                    .await?;
                let mut pipeline = pipe();
                for (task_type, _) in &heads {
                    pipeline.cmd("ZCARD").arg(keys.queue(pool, tier, task_type));
                }
                let sizes: Vec<u64> = self.ask_all(&pipeline).await?;
                let oldest = heads.first().map_or(0, |(_, at)| *at);
                stats.push(QueueStats {
                    pool: pool.clone(),
                    tier,
                    ready: sizes.iter().sum(),
                    oldest,
                });
            }
        }
        Ok(stats)
    }
}
