//! The trait.

use async_trait::async_trait;
use bytes::Bytes;
use domain::{Millis, Partition, TaskId, TimelineItem, Token, TypeSpec};

use crate::{
    Admitted, BatchCounts, Claim, Claimed, Dispatch, Dispatched, EndedBatches, Epoch, Error, Failure, Finish,
    Heartbeat, Listed, NewTask, Nonce, Operation, Origin, OutboxEntry, Page, PartitionStats, QueueStats,
    Recorded, Released, Removed, Reply, Retention, Seal, Sealed, Standing, TaskEvent, TaskFilter, TaskView,
    Verdict,
};

/// The authoritative task state. Verbs that change tasks work on one partition; a call with tasks of another is
/// [`Error::Corrupt`]. All verbs may be played twice with the same nonce.
#[async_trait]
pub trait TaskStore: Send + Sync + 'static {
    /// Number of partitions, fixed when the store was first used.
    fn partitions(&self) -> u16;

    /// Accepts submissions (I1).
    async fn admit(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        tasks: &[NewTask],
    ) -> Result<Reply<Admitted>, Error>;

    /// Takes ready tasks out of the queue, by turns of the types or oldest first. No transition, no event.
    async fn dispatch(&self, partition: Partition, nonce: Nonce, ask: &Dispatch)
    -> Result<Dispatched, Error>;

    /// Claims dispatched tasks.
    async fn claim(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        claim: &Claim,
    ) -> Result<Reply<Claimed>, Error>;

    /// Puts dispatched tasks that nobody can start back into their queues. No transition, no event.
    async fn undispatch(&self, partition: Partition, nonce: Nonce, ids: &[TaskId])
    -> Result<Released, Error>;

    /// Renews leases.
    async fn heartbeat(
        &self,
        partition: Partition,
        nonce: Nonce,
        lease_ms: i64,
        leases: &[(TaskId, Token)],
    ) -> Result<Vec<Heartbeat>, Error>;

    /// Ends runs well.
    async fn complete(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        ends: &[Finish],
    ) -> Result<Reply<Verdict>, Error>;

    /// Ends runs badly.
    async fn fail(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        ends: &[Failure],
    ) -> Result<Reply<Verdict>, Error>;

    /// Gives claimed tasks back; they are ready at once.
    async fn hand_back(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        leases: &[(TaskId, Token)],
    ) -> Result<Reply<Verdict>, Error>;

    /// Confirms that runs were ended because somebody asked.
    async fn stopped(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        leases: &[(TaskId, Token)],
    ) -> Result<Reply<Verdict>, Error>;

    /// What an operator or a policy does.
    async fn operate(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        operation: Operation,
        ids: &[TaskId],
    ) -> Result<Reply<Verdict>, Error>;

    /// Makes due tasks ready, and dispatched tasks whose hint grew old. At most one batch a call.
    async fn release_due(&self, partition: Partition, nonce: Nonce) -> Result<Released, Error>;

    /// Takes back tasks whose lease expired (I4). At most one batch a call. `lease_ms` is the fleet's lease: nothing is
    /// reclaimed for so long after an outage.
    async fn reclaim(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        lease_ms: i64,
    ) -> Result<Reply<(TaskId, Verdict)>, Error>;

    /// Outbox entries that wait for longer than `age_ms`, oldest first.
    async fn outbox(
        &self,
        partition: Partition,
        age_ms: i64,
        limit: usize,
    ) -> Result<Vec<OutboxEntry>, Error>;

    /// Removes entries that the stream has.
    async fn outbox_remove(&self, partition: Partition, ids: &[String]) -> Result<(), Error>;

    /// Removes terminal tasks that are old and recorded, and the counts of batches whose last task left
    /// [`crate::BATCH_KEEP_MS`] ago. At most one batch a call.
    async fn retain(
        &self,
        partition: Partition,
        nonce: Nonce,
        retention: &Retention,
    ) -> Result<Removed, Error>;

    /// Counts indices against records and mends what differs (I9); the mended, by invariant. One bounded slice a call.
    async fn sweep(&self, partition: Partition, nonce: Nonce) -> Result<Vec<(&'static str, u64)>, Error>;

    /// The recorder's write: position of the stream and statistics in one step. `epoch` is the stream's creation time; a
    /// position of another epoch starts anew.
    async fn record(
        &self,
        partition: Partition,
        epoch: i64,
        position: u64,
        events: &[TaskEvent],
    ) -> Result<Recorded, Error>;

    /// The position kept by [`Self::record`]: (epoch, position).
    async fn recorded(&self, partition: Partition) -> Result<(i64, u64), Error>;

    /// The events of all timelines whose tasks have unrecorded transitions, from `cursor`; to announce again after the
    /// stream was lost. The next cursor, none at the end.
    async fn unrecorded(
        &self,
        partition: Partition,
        cursor: u64,
    ) -> Result<(Vec<TaskEvent>, Option<u64>), Error>;

    /// Says how many rows a batch has in all and what follows it; its id's partition is its home. The first word stands:
    /// the answer is what holds now.
    async fn seal(&self, nonce: Nonce, origin: &Origin, batch: TaskId, seal: &Seal) -> Result<Sealed, Error>;

    /// What was said of a batch by [`Self::seal`].
    async fn sealed(&self, batch: TaskId) -> Result<Option<Sealed>, Error>;

    /// The sealed batches at home in a partition whose rows have all ended and which nothing followed yet, in the order
    /// of their ids, after `after`. At most one batch of them is looked at in a call.
    async fn ended_batches(&self, partition: Partition, after: Option<TaskId>)
    -> Result<EndedBatches, Error>;

    /// Notes the task that followed a batch. The first word stands: the answer is what holds now, none where the batch
    /// was never sealed.
    async fn follow(&self, nonce: Nonce, batch: TaskId, task: TaskId) -> Result<Option<TaskId>, Error>;

    /// Takes or renews a duty lease, such as the recorder's of a partition; whether `owner` has it.
    async fn hold(&self, duty: &str, owner: &str, ttl_ms: i64) -> Result<bool, Error>;

    /// A task with its texts.
    async fn get(&self, id: TaskId) -> Result<Option<TaskView>, Error>;

    /// The newest transitions of a task, oldest first.
    async fn timeline(&self, id: TaskId) -> Result<Vec<TimelineItem>, Error>;

    /// What the handler printed in an attempt; the newest if none is named.
    async fn output(&self, id: TaskId, attempt: Option<u32>) -> Result<Option<(u32, Bytes)>, Error>;

    /// Tasks, newest first.
    async fn list(&self, filter: &TaskFilter, page: &Page) -> Result<Listed, Error>;

    /// Tasks of a batch by status, those that were removed too; none if there is no such batch.
    async fn batch(&self, batch: TaskId) -> Result<Option<BatchCounts>, Error>;

    /// Counts of a partition.
    async fn stats(&self, partition: Partition) -> Result<PartitionStats, Error>;

    /// The ready queues of these pools in a partition.
    async fn queues(&self, partition: Partition, pools: &[String]) -> Result<Vec<QueueStats>, Error>;

    /// Hourly statistics since `since`: (hour, field, count), fields as the recorder wrote them.
    async fn hours(&self, since: Millis) -> Result<Vec<(Millis, String, u64)>, Error>;

    /// Creates or changes types; returns when every partition has its copy. The new version of the control state.
    async fn put_types(&self, types: &[TypeSpec]) -> Result<u64, Error>;

    /// Every type, with the version of the control state.
    async fn types(&self) -> Result<(u64, Vec<TypeSpec>), Error>;

    /// The version of the control state, to see cheaply whether types changed.
    async fn types_version(&self) -> Result<u64, Error>;

    /// What the store says of its epoch.
    async fn standing(&self) -> Result<Standing, Error>;

    /// Gives a store that has no epoch this one. The first word stands: the answer is the epoch that holds now. Who did
    /// not finish it is finished for by the next call.
    async fn found(&self, epoch: &Epoch) -> Result<Epoch, Error>;

    /// From now on every call of this process names this epoch, and is [`Error::Lost`] where the partition that it
    /// works on has another or none. Takes back what [`Self::condemn`] said.
    fn adopt(&self, epoch: &Epoch);

    /// From now on [`Self::ping`] is [`Error::Lost`], and why.
    fn condemn(&self, why: &str);

    /// Why the store is lost, as far as this process knows.
    fn condemned(&self) -> Option<String>;

    /// Whether the store answers and is not lost; its clock.
    async fn ping(&self) -> Result<Millis, Error>;
}
