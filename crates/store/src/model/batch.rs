//! Batches: counts over the partitions, seals, and what leaves when all tasks have left.

use domain::{Millis, Partition, TaskId};

use super::State;
use super::shard::Shard;
use crate::{BATCH_KEEP_MS, BATCH_MAX, BatchCounts, EndedBatch, EndedBatches, Seal, Sealed};

impl Shard {
    pub(super) fn seal(&mut self, batch: TaskId, seal: &Seal, actor: &str) -> Sealed {
        let now = self.now;
        let new = || Sealed {
            seal: seal.clone(),
            actor: actor.to_owned(),
            followed_by: None,
        };
        self.batch_left.entry(batch).or_insert(now);
        self.seals.entry(batch).or_insert_with(new).clone()
    }

    pub(super) fn follow(&mut self, batch: TaskId, task: TaskId) -> Option<TaskId> {
        let sealed = self.seals.get_mut(&batch)?;
        Some(*sealed.followed_by.get_or_insert(task))
    }

    /// Adds this partition's tasks of a batch, those that were removed too.
    fn add_batch(&self, batch: TaskId, counts: &mut BatchCounts) {
        self.of_batch(batch).for_each(|status| counts.add(status, 1));
        let gone = self.batch_gone.iter().filter(|((of, _), _)| *of == batch);
        gone.for_each(|((_, status), by)| counts.add(*status, *by));
    }

    fn of_batch(&self, batch: TaskId) -> impl Iterator<Item = domain::Status> {
        let records = self.records.values();
        let mine = records.filter(move |record| record.task.batch_id == Some(batch));
        mine.map(|record| record.task.status)
    }

    /// Notes that a task of the batch was removed, and whether it was the last here.
    pub(super) fn leave_batch(&mut self, batch: TaskId, last: domain::Status) {
        *self.batch_gone.entry((batch, last)).or_default() += 1;
        if self.of_batch(batch).next().is_none() {
            self.batch_left.insert(batch, self.now);
        }
    }
}

impl State {
    pub(super) fn batch_counts(&self, batch: TaskId) -> BatchCounts {
        let mut counts = BatchCounts::default();
        for shard in &self.shards {
            shard.add_batch(batch, &mut counts);
        }
        counts
    }

    pub(super) fn ended_batches(&self, partition: Partition, after: Option<TaskId>) -> EndedBatches {
        let mut found = EndedBatches::default();
        let Some(shard) = self.shards.get(usize::from(partition)) else {
            return found;
        };
        let open = shard.seals.iter().filter(|(_, sealed)| sealed.is_open());
        let mut open = open.filter(|(batch, _)| after.is_none_or(|after| **batch > after));
        for (batch, sealed) in open.by_ref().take(BATCH_MAX) {
            found.next = Some(*batch);
            let counts = self.batch_counts(*batch);
            if counts.ended() >= sealed.seal.total {
                found.ended.push(EndedBatch {
                    batch: *batch,
                    sealed: sealed.clone(),
                    counts,
                });
            }
        }
        if open.next().is_none() {
            found.next = None;
        }
        found
    }

    /// Forgets the batches of a partition whose tasks have left everywhere, some time ago.
    pub(super) fn forget_batches(&mut self, partition: Partition, now: Millis) {
        let at = usize::from(partition);
        let Some(shard) = self.shards.get(at) else { return };
        let old = shard
            .batch_left
            .iter()
            .filter(|(_, left)| **left + BATCH_KEEP_MS <= now);
        let old: Vec<TaskId> = old.map(|(batch, _)| *batch).collect();
        for batch in old {
            let lives = self
                .shards
                .iter()
                .any(|shard| shard.of_batch(batch).next().is_some());
            let home = usize::from(batch.partition(u16::try_from(self.shards.len()).unwrap_or(1)));
            let open = self.shards[home].seals.get(&batch).is_some_and(Sealed::is_open);
            let shard = &mut self.shards[at];
            if lives || open {
                shard.batch_left.insert(batch, now);
            } else {
                shard.batch_left.remove(&batch);
                shard.seals.remove(&batch);
                shard.batch_gone.retain(|(of, _), _| *of != batch);
            }
        }
    }
}
