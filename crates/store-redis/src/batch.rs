//! Batches: counts over the partitions, seals, and what leaves when all tasks have left.
//!
//! In the hash of counters a batch has a field for each status, and under 0 how many tasks are still there.

use domain::{Partition, Status, TaskId};
use store::{
    BATCH_KEEP_MS, BATCH_MAX, BatchCounts, EndedBatch, EndedBatches, Error, Nonce, Origin, Seal, Sealed,
};

use crate::connect::{RedisStore, Verb};
use crate::keys::{Key, Keys};
use crate::pack::{Packer, Value, unpack};
use crate::queue::id_of;

/// Batches looked at in a call whether they can be forgotten.
const FORGET_MAX: usize = 16;

/// Which batches were sealed, with what was said and what followed.
fn sealed_key(keys: &Keys) -> Key {
    keys.named("bs")
}

/// Sealed batches that something is still to follow.
fn open_key(keys: &Keys) -> Key {
    keys.named("bo")
}

/// Batches whose last task was removed here, by when that was or when they were looked at since.
pub(crate) fn left_key(keys: &Keys) -> Key {
    keys.named("bl")
}

fn counter(batch: TaskId, number: u8) -> Vec<u8> {
    [batch.as_bytes().as_slice(), format!("|{number}").as_bytes()].concat()
}

fn followed(batch: TaskId) -> Vec<u8> {
    [batch.as_bytes().as_slice(), b"f"].concat()
}

fn packed(seal: &Seal, actor: &str) -> Vec<u8> {
    Packer::new()
        .int(i64::try_from(seal.total).unwrap_or(i64::MAX))
        .text(seal.then.as_deref().unwrap_or(""))
        .bytes(seal.parent_id.as_ref().map_or(&[], |id| id.as_bytes().as_slice()))
        .text(actor)
        .end()
}

fn read(seal: &[u8], followed_by: &[u8]) -> Result<Sealed, Error> {
    let kept = unpack(seal)?;
    let then = kept.at(1)?.text()?;
    Ok(Sealed {
        seal: Seal {
            total: u64::try_from(kept.at(0)?.int()?).unwrap_or(0),
            then: (!then.is_empty()).then_some(then),
            parent_id: maybe(kept.at(2)?.bytes()?)?,
        },
        actor: kept.at(3)?.text()?,
        followed_by: maybe(followed_by)?,
    })
}

fn maybe(id: &[u8]) -> Result<Option<TaskId>, Error> {
    (!id.is_empty()).then(|| id_of(id)).transpose()
}

impl RedisStore {
    /// The counts of batches, in their order.
    pub(crate) async fn counts_of(&self, batches: &[TaskId]) -> Result<Vec<BatchCounts>, Error> {
        let mut counts = vec![BatchCounts::default(); batches.len()];
        if batches.is_empty() {
            return Ok(counts);
        }
        for partition in 0..self.partitions {
            let mut command = redis::cmd("HMGET");
            command.arg(Keys::of(partition).named("bc"));
            for batch in batches {
                for status in Status::ALL {
                    command.arg(counter(*batch, status as u8));
                }
            }
            let found: Vec<Option<i64>> = self.ask(&command).await?;
            for (counts, found) in counts.iter_mut().zip(found.chunks(Status::ALL.len())) {
                for (status, tasks) in Status::ALL.into_iter().zip(found) {
                    counts.add(status, u64::try_from(tasks.unwrap_or(0)).unwrap_or(0));
                }
            }
        }
        Ok(counts)
    }

    pub(crate) async fn seal_batch(
        &self,
        nonce: Nonce,
        origin: &Origin,
        batch: TaskId,
        seal: &Seal,
    ) -> Result<Sealed, Error> {
        seal.check()?;
        let partition = batch.partition(self.partitions);
        let keys = Keys::of(partition);
        let mut verb = Verb::new(partition, nonce, origin);
        verb.keys = vec![sealed_key(&keys), open_key(&keys), left_key(&keys)];
        let follows = if seal.then.is_some() { "1" } else { "0" };
        verb.args = vec![
            batch.as_bytes().to_vec(),
            packed(seal, &origin.actor),
            follows.into(),
        ];
        let items = Value::List(self.verb(&self.scripts.seal, verb).await?.items);
        read(items.at(0)?.bytes()?, items.at(1)?.bytes()?)
    }

    pub(crate) async fn sealed_batch(&self, batch: TaskId) -> Result<Option<Sealed>, Error> {
        let mut command = redis::cmd("HMGET");
        command
            .arg(sealed_key(&Keys::of(batch.partition(self.partitions))))
            .arg(batch.as_bytes())
            .arg(followed(batch));
        let (seal, task): (Option<Vec<u8>>, Option<Vec<u8>>) = self.ask(&command).await?;
        seal.map(|seal| read(&seal, &task.unwrap_or_default()))
            .transpose()
    }

    pub(crate) async fn follow_batch(
        &self,
        nonce: Nonce,
        batch: TaskId,
        task: TaskId,
    ) -> Result<Option<TaskId>, Error> {
        let partition = batch.partition(self.partitions);
        let keys = Keys::of(partition);
        let mut verb = Verb::new(partition, nonce, &Origin::default());
        verb.keys = vec![sealed_key(&keys), open_key(&keys)];
        verb.args = vec![batch.as_bytes().to_vec(), task.as_bytes().to_vec()];
        let items = Value::List(self.verb(&self.scripts.follow, verb).await?.items);
        maybe(items.at(0)?.bytes()?)
    }

    pub(crate) async fn ended_batches_of(
        &self,
        partition: Partition,
        after: Option<TaskId>,
    ) -> Result<EndedBatches, Error> {
        let keys = Keys::of(partition);
        let start = after.map_or_else(
            || b"-".to_vec(),
            |id| [b"(".as_slice(), id.as_bytes().as_slice()].concat(),
        );
        let mut command = redis::cmd("ZRANGE");
        command.arg(open_key(&keys)).arg(start).arg("+").arg("BYLEX");
        command.arg("LIMIT").arg(0).arg(BATCH_MAX + 1);
        let found: Vec<Vec<u8>> = self.ask(&command).await?;
        let mut batches: Vec<TaskId> = found.iter().map(|id| id_of(id)).collect::<Result<_, _>>()?;
        let more = batches.len() > BATCH_MAX;
        batches.truncate(BATCH_MAX);
        let mut page = EndedBatches {
            ended: Vec::new(),
            next: batches.last().copied().filter(|_| more),
        };
        for (batch, counts) in batches.iter().zip(self.counts_of(&batches).await?) {
            if let Some(sealed) = self.sealed_batch(*batch).await?
                && counts.ended() >= sealed.seal.total
            {
                page.ended.push(EndedBatch {
                    batch: *batch,
                    sealed,
                    counts,
                });
            }
        }
        Ok(page)
    }

    /// Forgets batches of a partition whose tasks have left everywhere, some time ago.
    pub(crate) async fn forget_batches(&self, partition: Partition, nonce: Nonce) -> Result<(), Error> {
        let keys = Keys::of(partition);
        let mut command = redis::cmd("ZRANGEBYSCORE");
        command
            .arg(left_key(&keys))
            .arg("-inf")
            .arg(self.clock().await? - BATCH_KEEP_MS);
        command.arg("LIMIT").arg(0).arg(FORGET_MAX);
        let found: Vec<Vec<u8>> = self.ask(&command).await?;
        if found.is_empty() {
            return Ok(());
        }
        let batches: Vec<TaskId> = found.iter().map(|id| id_of(id)).collect::<Result<_, _>>()?;
        let gone = self.gone(&batches).await?;
        let mut nonce = nonce;
        nonce[0] ^= 0x40; // another call than the removal
        let mut verb = Verb::new(partition, nonce, &Origin::default());
        verb.keys = vec![sealed_key(&keys), left_key(&keys)];
        for (batch, gone) in batches.iter().zip(gone) {
            verb.args
                .push(Packer::new().bytes(batch.as_bytes()).int(gone.into()).end());
        }
        self.verb(&self.scripts.forget, verb).await.map(drop)
    }

    /// Whether no partition has a task of them, and nothing is still to follow.
    async fn gone(&self, batches: &[TaskId]) -> Result<Vec<bool>, Error> {
        let mut gone = vec![true; batches.len()];
        for partition in 0..self.partitions {
            let mut command = redis::cmd("HMGET");
            command.arg(Keys::of(partition).named("bc"));
            for batch in batches {
                command.arg(counter(*batch, 0));
            }
            let living: Vec<Option<i64>> = self.ask(&command).await?;
            for (gone, living) in gone.iter_mut().zip(living) {
                *gone &= living.unwrap_or(0) <= 0;
            }
        }
        for (gone, batch) in gone.iter_mut().zip(batches) {
            let home = Keys::of(batch.partition(self.partitions));
            let mut command = redis::cmd("ZSCORE");
            command.arg(open_key(&home)).arg(batch.as_bytes());
            let open: Option<i64> = self.ask(&command).await?;
            *gone &= open.is_none();
        }
        Ok(gone)
    }
}
