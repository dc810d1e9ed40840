//! sweep: indices and records are compared, a slice a call, and mended (I9).

use std::sync::atomic::Ordering;

use domain::Partition;
use redis::pipe;
use store::{Error, Nonce, Origin};

use crate::connect::{RedisStore, Verb};
use crate::keys::Keys;
use crate::pack::Value;
use crate::queue::id_of;

impl RedisStore {
    pub(crate) async fn mend(
        &self,
        partition: Partition,
        nonce: Nonce,
    ) -> Result<Vec<(&'static str, u64)>, Error> {
        let turn = self.sweep_at.fetch_add(1, Ordering::Relaxed) / u64::from(self.partitions);
        let mut members = self.slice(partition, turn).await?;
        members.sort();
        members.dedup();
        let mut mended = self.mend_table(partition, turn).await?;
        for part in members.chunks(store::BATCH_MAX) {
            let ids: Vec<_> = part
                .iter()
                .map(|member| id_of(member))
                .collect::<Result<_, _>>()?;
            let records = self.records(partition, &ids).await?;
            let lines = self.lines(partition, &ids).await?;
            let mut nonce = nonce;
            getrandom::fill(&mut nonce[8..]).map_err(|error| Error::Corrupt(error.to_string()))?;
            let mut verb = Verb::new(partition, nonce, &Origin::default());
            for (((id, task), member), keys) in ids.iter().zip(records).zip(part).zip(lines) {
                // An index without its task keeps its own member; a task knows its batch.
                let member = task.map_or_else(
                    || member.clone(),
                    |task| {
                        [
                            id.as_bytes().as_slice(),
                            task.batch_id
                                .as_ref()
                                .map_or(&[], |batch| batch.as_bytes().as_slice()),
                        ]
                        .concat()
                    },
                );
                verb.push(keys, member);
            }
            let frame = self.verb(&self.scripts.mend, verb).await?;
            let hit =
                |item: &&Value| matches!(item, Value::Bytes(word) if word == b"added" || word == b"removed");
            mended += frame.items.iter().filter(hit).count() as u64;
        }
        Ok(if mended == 0 {
            Vec::new()
        } else {
            vec![("I9", mended)]
        })
    }

    /// The next tasks of the list of all, and the heads of the indices.
    async fn slice(&self, partition: Partition, turn: u64) -> Result<Vec<Vec<u8>>, Error> {
        let keys = Keys::of(partition);
        let size = 4 * store::BATCH_MAX as u64;
        let count: u64 = self.ask(redis::cmd("LLEN").arg(keys.named("all"))).await?;
        let start = turn % (count / size + 1) * size;
        let mut pipeline = pipe();
        pipeline
            .cmd("LRANGE")
            .arg(keys.named("all"))
            .arg(start)
            .arg(start + size - 1);
        for index in ["due", "disp", "lease", "dead"] {
            pipeline
                .cmd("ZRANGE")
                .arg(keys.named(index))
                .arg(0)
                .arg(store::BATCH_MAX - 1);
        }
        let found: Vec<Vec<Vec<u8>>> = self.ask_all(&pipeline).await?;
        Ok(found.into_iter().flatten().collect())
    }
}
