//! release_due and reclaim: what time does to tasks.

use domain::{Partition, TaskId};
use redis::pipe;
use store::{Error, Nonce, Origin, Released, Reply, Verdict};

use crate::connect::{RedisStore, Verb};
use crate::events::task_id;
use crate::finish::verdict;
use crate::header::tier;
use crate::keys::{Key, Keys};
use crate::pack::Value;
use crate::queue::id_of;

impl RedisStore {
    /// The task's key, queue, turns and heads; of a task that is gone, keys that the script will refuse.
    pub(crate) async fn lines(&self, partition: Partition, ids: &[TaskId]) -> Result<Vec<[Key; 4]>, Error> {
        let keys = Keys::of(partition);
        let records = self.records(partition, ids).await?;
        let line = |(id, task): (&TaskId, &Option<domain::Task>)| {
            let (pool, tier, name) = task.as_ref().map_or(("", domain::Tier::Low, ""), |task| {
                (&task.pool, task.tier, &task.task_type)
            });
            let [queue, turns, heads] = keys.line(pool, tier, name);
            [keys.task(*id), queue, turns, heads]
        };
        Ok(ids.iter().zip(&records).map(line).collect())
    }

    /// Members whose time has come, at most one batch, and whether the call with this nonce was answered before: then
    /// they have moved, and the script knows the answer (I12).
    async fn ended(
        &self,
        partition: Partition,
        nonce: &Nonce,
        indices: &[&str],
    ) -> Result<(Vec<TaskId>, bool), Error> {
        let keys = Keys::of(partition);
        let now = self.clock().await?;
        let mut pipeline = pipe();
        for index in indices {
            let range = pipeline
                .cmd("ZRANGE")
                .arg(keys.named(index))
                .arg("-inf")
                .arg(now)
                .arg("BYSCORE");
            range.arg("LIMIT").arg(0).arg(store::BATCH_MAX);
        }
        let found: Vec<Vec<Vec<u8>>> = self.ask_all(&pipeline).await?;
        let answered = self.answered(partition, nonce).await?;
        let mut ids: Vec<_> = found
            .iter()
            .flatten()
            .map(|member| id_of(member))
            .collect::<Result<_, _>>()?;
        ids.truncate(store::BATCH_MAX);
        Ok((ids, answered))
    }

    /// Whether the call with this nonce was answered before.
    pub(crate) async fn answered(&self, partition: Partition, nonce: &Nonce) -> Result<bool, Error> {
        let [key, ..] = &Keys::of(partition).partition(nonce)[..] else {
            return Ok(false);
        };
        self.ask(redis::cmd("EXISTS").arg(key)).await
    }

    pub(crate) async fn release(&self, partition: Partition, nonce: Nonce) -> Result<Released, Error> {
        let (ids, answered) = self.ended(partition, &nonce, &["due", "disp"]).await?;
        if ids.is_empty() && !answered {
            return Ok(Released::default());
        }
        let lines = self.lines(partition, &ids).await?;
        let mut verb = Verb::new(partition, nonce, &Origin::default());
        for (id, keys) in ids.iter().zip(lines) {
            verb.push(keys, id.as_bytes().to_vec());
        }
        let frame = self.verb(&self.scripts.release_due, verb).await?;
        let mut released = Released {
            more: frame.items.len() == store::BATCH_MAX,
            ..Released::default()
        };
        for item in &frame.items {
            let Value::List(moved) = item else { continue };
            released.count += 1;
            let queue = (
                moved[0].text()?,
                tier(u8::try_from(moved[1].int()?).unwrap_or(0))?,
                moved[2].text()?,
            );
            if !released.queues.contains(&queue) {
                released.queues.push(queue);
            }
        }
        Ok(released)
    }

    pub(crate) async fn reclaim_expired(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        lease_ms: i64,
    ) -> Result<Reply<(TaskId, Verdict)>, Error> {
        let run_id = self.run_id().await?;
        let (ids, _) = self.ended(partition, &nonce, &["lease"]).await?;
        let keys = Keys::of(partition);
        let mut verb = Verb::new(partition, nonce, origin).int(lease_ms).text(&run_id);
        for id in &ids {
            verb.push([keys.task(*id)], id.as_bytes().to_vec());
        }
        let frame = self.verb(&self.scripts.reclaim, verb).await?;
        frame.reply(|item| Ok((task_id(item.at(0)?)?, verdict(item.at(1)?)?)))
    }

    /// Names the running server; a restart changes it.
    async fn run_id(&self) -> Result<String, Error> {
        let info: String = match self.is_cluster() {
            false => self.ask(redis::cmd("INFO").arg("server")).await?,
            // A cluster has a server for each partition; there the silence of the partition alone tells of an outage.
            true => return Ok("cluster".into()),
        };
        Ok(info
            .lines()
            .find_map(|line| line.strip_prefix("run_id:"))
            .unwrap_or_default()
            .to_owned())
    }
}
