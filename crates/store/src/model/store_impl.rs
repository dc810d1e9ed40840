//! The trait, verb by verb.

use async_trait::async_trait;
use bytes::Bytes;
use domain::{Millis, Partition, TaskId, TimelineItem, Token, TypeSpec};

use super::{Model, list};
use crate::{
    Admitted, BatchCounts, Claim, Claimed, Dispatch, Dispatched, EndedBatches, Epoch, Error, Failure, Finish,
    Heartbeat, Listed, NewTask, Nonce, Operation, Origin, OutboxEntry, Page, PartitionStats, QueueStats,
    Recorded, Released, Removed, Reply, Retention, Seal, Sealed, Standing, TaskEvent, TaskFilter, TaskStore,
    TaskView, Verdict,
};

#[async_trait]
impl TaskStore for Model {
    fn partitions(&self) -> u16 {
        self.partitions
    }

    async fn admit(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        tasks: &[NewTask],
    ) -> Result<Reply<Admitted>, Error> {
        self.check(partition, tasks.iter().map(|task| task.id))?;
        self.replied(partition, nonce, |shard| shard.admit(origin, tasks))
    }

    async fn dispatch(
        &self,
        partition: Partition,
        nonce: Nonce,
        ask: &Dispatch,
    ) -> Result<Dispatched, Error> {
        self.once(partition, nonce, |shard| Ok(shard.dispatch(ask)))
    }

    async fn claim(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        claim: &Claim,
    ) -> Result<Reply<Claimed>, Error> {
        self.check(partition, claim.items.iter().map(|item| item.id))?;
        self.replied(partition, nonce, |shard| Ok(shard.claim(origin, claim)))
    }

    async fn undispatch(
        &self,
        partition: Partition,
        nonce: Nonce,
        ids: &[TaskId],
    ) -> Result<Released, Error> {
        self.check(partition, ids.iter().copied())?;
        self.once(partition, nonce, |shard| Ok(shard.undispatch(ids)))
    }

    async fn heartbeat(
        &self,
        partition: Partition,
        nonce: Nonce,
        lease_ms: i64,
        leases: &[(TaskId, Token)],
    ) -> Result<Vec<Heartbeat>, Error> {
        self.check(partition, leases.iter().map(|(id, _)| *id))?;
        self.once(partition, nonce, |shard| Ok(shard.heartbeat(lease_ms, leases)))
    }

    async fn complete(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        ends: &[Finish],
    ) -> Result<Reply<Verdict>, Error> {
        self.check(partition, ends.iter().map(|end| end.id))?;
        self.replied(partition, nonce, |shard| Ok(shard.complete(origin, ends)))
    }

    async fn fail(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        ends: &[Failure],
    ) -> Result<Reply<Verdict>, Error> {
        self.check(partition, ends.iter().map(|end| end.id))?;
        self.replied(partition, nonce, |shard| Ok(shard.fail(origin, ends)))
    }

    async fn hand_back(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        leases: &[(TaskId, Token)],
    ) -> Result<Reply<Verdict>, Error> {
        self.check(partition, leases.iter().map(|(id, _)| *id))?;
        self.replied(partition, nonce, |shard| Ok(shard.hand_back(origin, leases)))
    }

    async fn stopped(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        leases: &[(TaskId, Token)],
    ) -> Result<Reply<Verdict>, Error> {
        self.check(partition, leases.iter().map(|(id, _)| *id))?;
        self.replied(partition, nonce, |shard| Ok(shard.stopped(origin, leases)))
    }

    async fn operate(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        operation: Operation,
        ids: &[TaskId],
    ) -> Result<Reply<Verdict>, Error> {
        self.check(partition, ids.iter().copied())?;
        self.replied(
            partition,
            nonce,
            |shard| Ok(shard.operate(origin, operation, ids)),
        )
    }

    async fn release_due(&self, partition: Partition, nonce: Nonce) -> Result<Released, Error> {
        self.once(partition, nonce, |shard| Ok(shard.release_due()))
    }

    async fn reclaim(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        lease_ms: i64,
    ) -> Result<Reply<(TaskId, Verdict)>, Error> {
        self.replied(partition, nonce, |shard| Ok(shard.reclaim(origin, lease_ms)))
    }

    async fn outbox(
        &self,
        partition: Partition,
        age_ms: i64,
        limit: usize,
    ) -> Result<Vec<OutboxEntry>, Error> {
        let until = self.clock.now() - age_ms;
        self.on(partition, |shard| Ok(shard.waiting_since(until, limit)))
    }

    async fn outbox_remove(&self, partition: Partition, ids: &[String]) -> Result<(), Error> {
        self.on(partition, |shard| {
            for number in ids.iter().filter_map(|id| id.parse().ok()) {
                shard.outbox.remove(&number);
            }
            Ok(())
        })
    }

    async fn retain(
        &self,
        partition: Partition,
        nonce: Nonce,
        retention: &Retention,
    ) -> Result<Removed, Error> {
        let removed = self.once(partition, nonce, |shard| Ok(shard.retain(retention)))?;
        self.state().forget_batches(partition, self.clock.now());
        Ok(removed)
    }

    /// Nothing to mend: the indices are part of the one state.
    async fn sweep(&self, partition: Partition, nonce: Nonce) -> Result<Vec<(&'static str, u64)>, Error> {
        self.once(partition, nonce, |_| Ok(Vec::new()))
    }

    async fn record(
        &self,
        partition: Partition,
        epoch: i64,
        position: u64,
        events: &[TaskEvent],
    ) -> Result<Recorded, Error> {
        self.on(partition, |shard| Ok(shard.record(epoch, position, events)))
    }

    async fn recorded(&self, partition: Partition) -> Result<(i64, u64), Error> {
        self.on(partition, |shard| Ok(shard.recorded))
    }

    async fn unrecorded(
        &self,
        partition: Partition,
        cursor: u64,
    ) -> Result<(Vec<TaskEvent>, Option<u64>), Error> {
        self.on(partition, |shard| Ok(shard.unrecorded(cursor)))
    }

    async fn hold(&self, duty: &str, owner: &str, ttl_ms: i64) -> Result<bool, Error> {
        let now = self.clock.now();
        let mut state = self.state();
        let taken = state
            .holds
            .get(duty)
            .is_some_and(|(holder, end)| holder != owner && *end > now);
        if !taken {
            let lease = (owner.to_owned(), now + ttl_ms);
            state.holds.insert(duty.to_owned(), lease);
        }
        Ok(!taken)
    }

    async fn get(&self, id: TaskId) -> Result<Option<TaskView>, Error> {
        let clock = self.clock.now();
        self.on(id.partition(self.partitions), |shard| {
            Ok(shard.view(id, clock.max(shard.now)))
        })
    }

    async fn timeline(&self, id: TaskId) -> Result<Vec<TimelineItem>, Error> {
        self.on(id.partition(self.partitions), |shard| {
            let record = shard.records.get(&id);
            Ok(record.map_or_else(Vec::new, |record| record.timeline.clone()))
        })
    }

    async fn output(&self, id: TaskId, attempt: Option<u32>) -> Result<Option<(u32, Bytes)>, Error> {
        self.on(id.partition(self.partitions), |shard| {
            Ok(shard.records.get(&id).map(|record| {
                let attempt = attempt.unwrap_or(record.task.attempt);
                let text = record.outputs.get(&attempt);
                (attempt, text.cloned().unwrap_or_default())
            }))
        })
    }

    async fn list(&self, filter: &TaskFilter, page: &Page) -> Result<Listed, Error> {
        list::list(&self.state(), filter, page, self.clock.now())
    }

    async fn batch(&self, batch: TaskId) -> Result<Option<BatchCounts>, Error> {
        let counts = self.state().batch_counts(batch);
        Ok((counts.total > 0).then_some(counts))
    }

    async fn seal(&self, nonce: Nonce, origin: &Origin, batch: TaskId, seal: &Seal) -> Result<Sealed, Error> {
        seal.check()?;
        self.once(batch.partition(self.partitions), nonce, |shard| {
            Ok(shard.seal(batch, seal, &origin.actor))
        })
    }

    async fn sealed(&self, batch: TaskId) -> Result<Option<Sealed>, Error> {
        self.on(batch.partition(self.partitions), |shard| {
            Ok(shard.seals.get(&batch).cloned())
        })
    }

    async fn ended_batches(
        &self,
        partition: Partition,
        after: Option<TaskId>,
    ) -> Result<EndedBatches, Error> {
        Ok(self.state().ended_batches(partition, after))
    }

    async fn follow(&self, nonce: Nonce, batch: TaskId, task: TaskId) -> Result<Option<TaskId>, Error> {
        self.once(batch.partition(self.partitions), nonce, |shard| {
            Ok(shard.follow(batch, task))
        })
    }

    async fn stats(&self, partition: Partition) -> Result<PartitionStats, Error> {
        let clock = self.clock.now();
        self.on(partition, |shard| Ok(shard.stats(clock)))
    }

    async fn queues(&self, partition: Partition, pools: &[String]) -> Result<Vec<QueueStats>, Error> {
        self.on(partition, |shard| Ok(shard.queues(pools)))
    }

    async fn hours(&self, since: Millis) -> Result<Vec<(Millis, String, u64)>, Error> {
        Ok(self.state().hours_since(since))
    }

    async fn put_types(&self, types: &[TypeSpec]) -> Result<u64, Error> {
        let mut state = self.state();
        self.refuse_lost(&state)?;
        Ok(state.put_types(types))
    }

    async fn types(&self) -> Result<(u64, Vec<TypeSpec>), Error> {
        let state = self.state();
        Ok((state.types_version, state.types.values().cloned().collect()))
    }

    async fn types_version(&self) -> Result<u64, Error> {
        Ok(self.state().types_version)
    }

    async fn standing(&self) -> Result<Standing, Error> {
        Ok(self.stands())
    }

    async fn found(&self, epoch: &Epoch) -> Result<Epoch, Error> {
        Ok(self.give(epoch))
    }

    fn adopt(&self, epoch: &Epoch) {
        self.know(epoch);
    }

    fn condemn(&self, why: &str) {
        self.say_lost(why);
    }

    fn condemned(&self) -> Option<String> {
        self.said_lost()
    }

    async fn ping(&self) -> Result<Millis, Error> {
        match self.said_lost() {
            Some(why) => Err(Error::Lost(why)),
            None => Ok(self.clock.now()),
        }
    }
}
