//! The trait, verb by verb.

use async_trait::async_trait;
use bytes::Bytes;
use domain::{Millis, Partition, TaskId, TimelineItem, Token, TypeSpec};
use store::{
    Admitted, BatchCounts, Claim, Claimed, Dispatch, Dispatched, EndedBatches, Epoch, Error, Failure, Finish,
    Heartbeat, Listed, NewTask, Nonce, Operation, Origin, OutboxEntry, Page, PartitionStats, QueueStats,
    Recorded, Released, Removed, Reply, Retention, Seal, Sealed, Standing, TaskEvent, TaskFilter, TaskStore,
    TaskView, Verdict,
};

use crate::connect::RedisStore;

#[async_trait]
impl TaskStore for RedisStore {
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
        self.admit_tasks(partition, nonce, origin, tasks).await
    }

    async fn dispatch(
        &self,
        partition: Partition,
        nonce: Nonce,
        ask: &Dispatch,
    ) -> Result<Dispatched, Error> {
        self.dispatch_tasks(partition, nonce, ask).await
    }

    async fn claim(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        claim: &Claim,
    ) -> Result<Reply<Claimed>, Error> {
        self.claim_tasks(partition, nonce, origin, claim).await
    }

    async fn undispatch(
        &self,
        partition: Partition,
        nonce: Nonce,
        ids: &[TaskId],
    ) -> Result<Released, Error> {
        self.undispatch_tasks(partition, nonce, ids).await
    }

    async fn heartbeat(
        &self,
        partition: Partition,
        nonce: Nonce,
        lease_ms: i64,
        leases: &[(TaskId, Token)],
    ) -> Result<Vec<Heartbeat>, Error> {
        self.renew(partition, nonce, lease_ms, leases).await
    }

    async fn complete(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        ends: &[Finish],
    ) -> Result<Reply<Verdict>, Error> {
        self.complete_tasks(partition, nonce, origin, ends).await
    }

    async fn fail(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        ends: &[Failure],
    ) -> Result<Reply<Verdict>, Error> {
        self.fail_tasks(partition, nonce, origin, ends).await
    }

    async fn hand_back(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        leases: &[(TaskId, Token)],
    ) -> Result<Reply<Verdict>, Error> {
        self.give_up(&self.scripts.hand_back, partition, nonce, origin, leases)
            .await
    }

    async fn stopped(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        leases: &[(TaskId, Token)],
    ) -> Result<Reply<Verdict>, Error> {
        self.give_up(&self.scripts.stopped, partition, nonce, origin, leases)
            .await
    }

    async fn operate(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        operation: Operation,
        ids: &[TaskId],
    ) -> Result<Reply<Verdict>, Error> {
        self.operate_on(partition, nonce, origin, operation, ids).await
    }

    async fn release_due(&self, partition: Partition, nonce: Nonce) -> Result<Released, Error> {
        self.release(partition, nonce).await
    }

    async fn reclaim(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        lease_ms: i64,
    ) -> Result<Reply<(TaskId, Verdict)>, Error> {
        self.reclaim_expired(partition, nonce, origin, lease_ms).await
    }

    async fn outbox(
        &self,
        partition: Partition,
        age_ms: i64,
        limit: usize,
    ) -> Result<Vec<OutboxEntry>, Error> {
        self.waiting_events(partition, age_ms, limit).await
    }

    async fn outbox_remove(&self, partition: Partition, ids: &[String]) -> Result<(), Error> {
        self.forget_events(partition, ids).await
    }

    async fn retain(
        &self,
        partition: Partition,
        nonce: Nonce,
        retention: &Retention,
    ) -> Result<Removed, Error> {
        self.remove_old(partition, nonce, retention).await
    }

    async fn sweep(&self, partition: Partition, nonce: Nonce) -> Result<Vec<(&'static str, u64)>, Error> {
        self.mend(partition, nonce).await
    }

    async fn record(
        &self,
        partition: Partition,
        epoch: i64,
        position: u64,
        events: &[TaskEvent],
    ) -> Result<Recorded, Error> {
        self.record_events(partition, epoch, position, events).await
    }

    async fn recorded(&self, partition: Partition) -> Result<(i64, u64), Error> {
        self.position(partition).await
    }

    async fn unrecorded(
        &self,
        partition: Partition,
        cursor: u64,
    ) -> Result<(Vec<TaskEvent>, Option<u64>), Error> {
        self.unrecorded_events(partition, cursor).await
    }

    async fn hold(&self, duty: &str, owner: &str, ttl_ms: i64) -> Result<bool, Error> {
        self.hold_duty(duty, owner, ttl_ms).await
    }

    async fn get(&self, id: TaskId) -> Result<Option<TaskView>, Error> {
        Ok(self.views(id.partition(self.partitions), &[id]).await?.pop())
    }

    async fn timeline(&self, id: TaskId) -> Result<Vec<TimelineItem>, Error> {
        self.timeline_of(id).await
    }

    async fn output(&self, id: TaskId, attempt: Option<u32>) -> Result<Option<(u32, Bytes)>, Error> {
        self.output_of(id, attempt).await
    }

    async fn list(&self, filter: &TaskFilter, page: &Page) -> Result<Listed, Error> {
        self.list_tasks(filter, page).await
    }

    async fn batch(&self, batch: TaskId) -> Result<Option<BatchCounts>, Error> {
        let counts = self.counts_of(&[batch]).await?.pop();
        Ok(counts.filter(|counts| counts.total > 0))
    }

    async fn seal(&self, nonce: Nonce, origin: &Origin, batch: TaskId, seal: &Seal) -> Result<Sealed, Error> {
        self.seal_batch(nonce, origin, batch, seal).await
    }

    async fn sealed(&self, batch: TaskId) -> Result<Option<Sealed>, Error> {
        self.sealed_batch(batch).await
    }

    async fn ended_batches(
        &self,
        partition: Partition,
        after: Option<TaskId>,
    ) -> Result<EndedBatches, Error> {
        self.ended_batches_of(partition, after).await
    }

    async fn follow(&self, nonce: Nonce, batch: TaskId, task: TaskId) -> Result<Option<TaskId>, Error> {
        self.follow_batch(nonce, batch, task).await
    }

    async fn stats(&self, partition: Partition) -> Result<PartitionStats, Error> {
        self.partition_stats(partition).await
    }

    async fn queues(&self, partition: Partition, pools: &[String]) -> Result<Vec<QueueStats>, Error> {
        self.queue_stats(partition, pools).await
    }

    async fn hours(&self, since: Millis) -> Result<Vec<(Millis, String, u64)>, Error> {
        self.hours_since(since).await
    }

    async fn put_types(&self, types: &[TypeSpec]) -> Result<u64, Error> {
        self.write_types(types).await
    }

    async fn types(&self) -> Result<(u64, Vec<TypeSpec>), Error> {
        self.read_types().await
    }

    async fn types_version(&self) -> Result<u64, Error> {
        self.read_types_version().await
    }

    async fn standing(&self) -> Result<Standing, Error> {
        self.stands().await
    }

    async fn found(&self, epoch: &Epoch) -> Result<Epoch, Error> {
        self.give_epoch(epoch).await
    }

    fn adopt(&self, epoch: &Epoch) {
        self.epoch.adopt(epoch);
    }

    fn condemn(&self, why: &str) {
        self.epoch.condemn(why);
    }

    fn condemned(&self) -> Option<String> {
        self.epoch.condemned()
    }

    async fn ping(&self) -> Result<Millis, Error> {
        if let Some(why) = self.epoch.condemned() {
            return Err(Error::Lost(why));
        }
        // A server that can't write to its disk still reads, and refuses this beside all writes.
        self.ask::<String>(&redis::cmd("PING")).await?;
        self.clock().await
    }
}
