//! retain: terminal tasks leave after their time.

use domain::{Partition, Status};
use redis::pipe;
use store::{Error, Nonce, Origin, Removed, Retention};

use crate::batch::left_key;
use crate::connect::{RedisStore, Verb};
use crate::keys::Keys;
use crate::pack::{Packer, Value};
use crate::queue::id_of;

/// A terminal task as a list shows it: member, the list's status, when it ended.
type Candidate = (Vec<u8>, Status, i64);
/// Heads of the lists of success and cancelled, and of the dead with their time.
type Heads = (Vec<Vec<u8>>, Vec<Vec<u8>>, Vec<(Vec<u8>, i64)>);

impl RedisStore {
    pub(crate) async fn remove_old(
        &self,
        partition: Partition,
        nonce: Nonce,
        retention: &Retention,
    ) -> Result<Removed, Error> {
        let candidates = self.candidates(partition).await?;
        let mut removed = Removed::default();
        if !candidates.is_empty() || self.answered(partition, &nonce).await? {
            let keys = Keys::of(partition);
            let ids: Vec<_> = candidates
                .iter()
                .map(|(member, ..)| id_of(member))
                .collect::<Result<_, _>>()?;
            let records = self.records(partition, &ids).await?;
            let count = i64::try_from(retention.count).unwrap_or(i64::MAX);
            let mut verb = Verb::new(partition, nonce, &Origin::default())
                .int(retention.success_ms)
                .int(retention.cancelled_ms)
                .int(retention.dead_ms)
                .int(count);
            verb.keys = vec![left_key(&keys)];
            for ((id, task), (member, list, ended)) in ids.iter().zip(&records).zip(&candidates) {
                let key = task.as_ref().map_or_else(
                    || keys.idempotency("", ""),
                    |task| keys.idempotency(&task.task_type, &task.idempotency_key),
                );
                let arg = Packer::new()
                    .bytes(id.as_bytes())
                    .int(*list as i64)
                    .int(*ended)
                    .bytes(member)
                    .end();
                verb.push([keys.task(*id), key], arg);
            }
            let frame = self.verb(&self.scripts.retain, verb).await?;
            let said = |word: &[u8]| {
                frame
                    .items
                    .iter()
                    .filter(|item| matches!(item, Value::Bytes(said) if said == word))
                    .count()
            };
            removed.tasks = said(b"removed");
            removed.more = removed.tasks + said(b"gone") == frame.items.len();
        }
        self.trim(partition, nonce).await?;
        self.forget_batches(partition, nonce).await?;
        Ok(removed)
    }

    /// The heads of the lists of ended tasks.
    async fn candidates(&self, partition: Partition) -> Result<Vec<Candidate>, Error> {
        let keys = Keys::of(partition);
        let most = store::BATCH_MAX / 3;
        let mut pipeline = pipe();
        pipeline.cmd("LRANGE").arg(keys.named("es")).arg(0).arg(most);
        pipeline.cmd("LRANGE").arg(keys.named("ec")).arg(0).arg(most);
        pipeline
            .cmd("ZRANGE")
            .arg(keys.named("dead"))
            .arg(0)
            .arg(most)
            .arg("WITHSCORES");
        let (success, cancelled, dead): Heads = self.ask_all(&pipeline).await?;
        let listed = |entries: Vec<Vec<u8>>, status: Status| {
            entries.into_iter().filter_map(move |entry| {
                let (id, ended) = entry.split_at_checked(16)?;
                Some((id.to_vec(), status, i64::from_be_bytes(ended.try_into().ok()?)))
            })
        };
        let dead = dead
            .into_iter()
            .map(|(member, ended)| (member, Status::Dead, ended));
        Ok(listed(success, Status::Success)
            .chain(listed(cancelled, Status::Cancelled))
            .chain(dead)
            .collect())
    }

    async fn trim(&self, partition: Partition, nonce: Nonce) -> Result<(), Error> {
        let keys = Keys::of(partition);
        let head = self.window(partition, None, 0..0).await?.trimmed;
        let most = store::BATCH_MAX as u64;
        let window = self.window(partition, None, head..head + most).await?;
        let Some(first) = window.ids.first() else {
            return Ok(());
        };
        if self.record_of(*first).await?.is_some() {
            return Ok(());
        }
        let mut nonce = nonce;
        nonce[0] ^= 0x80; // another call than the removal
        let trimmed = i64::try_from(window.trimmed).unwrap_or(i64::MAX);
        let mut verb = Verb::new(partition, nonce, &Origin::default()).int(trimmed);
        for id in &window.ids {
            verb.push([keys.task(*id)], id.as_bytes().to_vec());
        }
        self.verb(&self.scripts.trim, verb).await.map(drop)
    }
}
