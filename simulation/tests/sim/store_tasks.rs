//! The verbs of tasks, each on its way to the model and back.

use bytes::Bytes;
use domain::{Millis, Partition, TaskId, TimelineItem, Token, TypeSpec};
use handler::async_trait;
use store::{
    Admitted, BatchCounts, Claim, Claimed, Dispatch, Dispatched, EndedBatches, Epoch, Error, Failure, Finish,
    Heartbeat, Listed, NewTask, Nonce, Operation, Origin, OutboxEntry, Page, PartitionStats, QueueStats,
    Recorded, Released, Removed, Reply, Retention, Seal, Sealed, Standing, TaskEvent, TaskFilter, TaskStore,
    TaskView, Verdict,
};

use crate::mutation::Mutation;
use crate::store::{SimStore, once, plain, told};

#[async_trait]
impl TaskStore for SimStore {
    fn partitions(&self) -> u16 {
        self.world.model.partitions()
    }

    async fn admit(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        tasks: &[NewTask],
    ) -> Result<Reply<Admitted>, Error> {
        let model = &self.world.model;
        told!(
            self,
            "admit",
            nonce,
            |told| model.admit(partition, told, origin, tasks),
            |_, items: &[Admitted]| self.world.check().admitted(tasks, items)
        )
    }

    async fn dispatch(
        &self,
        partition: Partition,
        nonce: Nonce,
        ask: &Dispatch,
    ) -> Result<Dispatched, Error> {
        let fate = self.sent("dispatch").await?;
        let (told, play) = self.play(nonce);
        let answer = self.world.model.dispatch(partition, told, ask).await;
        if let Ok(dispatched) = &answer {
            self.repeats("dispatch", fate, play, dispatched);
            self.world.check().dispatched(play, dispatched);
        }
        self.back("dispatch", fate, answer).await
    }

    async fn claim(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        claim: &Claim,
    ) -> Result<Reply<Claimed>, Error> {
        let model = &self.world.model;
        let answer = told!(
            self,
            "claim",
            nonce,
            |told| model.claim(partition, told, origin, claim),
            |play, items: &[Claimed]| self.world.check().claimed(play, claim, items)
        )?;
        let ids = claim.items.iter().map(|item| item.id);
        self.world.check().answered(self.who, ids);
        Ok(answer)
    }

    async fn undispatch(
        &self,
        partition: Partition,
        nonce: Nonce,
        ids: &[TaskId],
    ) -> Result<Released, Error> {
        let model = &self.world.model;
        // Acked without this one's answer too: whoever has no slot leaves the task to its dispatch lease.
        self.world.check().answered(self.who, ids.iter().copied());
        once!(self, "undispatch", nonce, |told| model
            .undispatch(partition, told, ids))
    }

    async fn heartbeat(
        &self,
        partition: Partition,
        nonce: Nonce,
        lease_ms: i64,
        leases: &[(TaskId, Token)],
    ) -> Result<Vec<Heartbeat>, Error> {
        let fate = self.sent("heartbeat").await?;
        let (told, play) = self.play(nonce);
        let named = self.leases(leases).await;
        let answer = self
            .world
            .model
            .heartbeat(partition, told, lease_ms, &named)
            .await;
        if let Ok(beats) = &answer {
            self.repeats("heartbeat", fate, play, beats);
            self.world.check().renewed(play, lease_ms, leases, beats);
        }
        self.back("heartbeat", fate, answer).await
    }

    async fn complete(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        ends: &[Finish],
    ) -> Result<Reply<Verdict>, Error> {
        let mut named = ends.to_vec();
        for end in &mut named {
            end.token = self.token(end.id, end.token).await;
        }
        let model = &self.world.model;
        let leases: Vec<_> = ends.iter().map(|end| (end.id, end.token)).collect();
        told!(
            self,
            "complete",
            nonce,
            |told| model.complete(partition, told, origin, &named),
            |_, items: &[Verdict]| self.world.check().ended(&leases, items)
        )
    }

    async fn fail(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        ends: &[Failure],
    ) -> Result<Reply<Verdict>, Error> {
        let mut named = ends.to_vec();
        for end in &mut named {
            end.token = self.token(end.id, end.token).await;
        }
        let model = &self.world.model;
        let leases: Vec<_> = ends.iter().map(|end| (end.id, end.token)).collect();
        told!(
            self,
            "fail",
            nonce,
            |told| model.fail(partition, told, origin, &named),
            |_, items: &[Verdict]| self.world.check().ended(&leases, items)
        )
    }

    async fn hand_back(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        leases: &[(TaskId, Token)],
    ) -> Result<Reply<Verdict>, Error> {
        let named = self.leases(leases).await;
        let model = &self.world.model;
        told!(
            self,
            "hand_back",
            nonce,
            |told| model.hand_back(partition, told, origin, &named),
            |_, items: &[Verdict]| self.world.check().ended(leases, items)
        )
    }

    async fn stopped(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        leases: &[(TaskId, Token)],
    ) -> Result<Reply<Verdict>, Error> {
        let named = self.leases(leases).await;
        let model = &self.world.model;
        told!(
            self,
            "stopped",
            nonce,
            |told| model.stopped(partition, told, origin, &named),
            |_, items: &[Verdict]| self.world.check().ended(leases, items)
        )
    }

    async fn operate(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        operation: Operation,
        ids: &[TaskId],
    ) -> Result<Reply<Verdict>, Error> {
        let model = &self.world.model;
        told!(
            self,
            "operate",
            nonce,
            |told| model.operate(partition, told, origin, operation, ids),
            |_, _: &[Verdict]| {}
        )
    }

    async fn release_due(&self, partition: Partition, nonce: Nonce) -> Result<Released, Error> {
        let model = &self.world.model;
        once!(self, "release_due", nonce, |told| model
            .release_due(partition, told))
    }

    async fn reclaim(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        lease_ms: i64,
    ) -> Result<Reply<(TaskId, Verdict)>, Error> {
        let model = &self.world.model;
        let guard_ms = if self.has(Mutation::ReclaimAfterOutage) {
            0
        } else {
            lease_ms
        };
        told!(
            self,
            "reclaim",
            nonce,
            |told| model.reclaim(partition, told, origin, guard_ms),
            |play, items: &[(TaskId, Verdict)]| self.world.check().reclaimed(play, lease_ms, items)
        )
    }

    async fn outbox(
        &self,
        partition: Partition,
        age_ms: i64,
        limit: usize,
    ) -> Result<Vec<OutboxEntry>, Error> {
        plain!(self, "outbox", self.world.model.outbox(partition, age_ms, limit))
    }

    async fn outbox_remove(&self, partition: Partition, ids: &[String]) -> Result<(), Error> {
        plain!(
            self,
            "outbox_remove",
            self.world.model.outbox_remove(partition, ids)
        )
    }

    async fn retain(
        &self,
        partition: Partition,
        nonce: Nonce,
        retention: &Retention,
    ) -> Result<Removed, Error> {
        let model = &self.world.model;
        once!(self, "retain", nonce, |told| model
            .retain(partition, told, retention))
    }

    async fn sweep(&self, partition: Partition, nonce: Nonce) -> Result<Vec<(&'static str, u64)>, Error> {
        let model = &self.world.model;
        once!(self, "sweep", nonce, |told| model.sweep(partition, told))
    }

    async fn record(
        &self,
        partition: Partition,
        epoch: i64,
        position: u64,
        events: &[TaskEvent],
    ) -> Result<Recorded, Error> {
        let fate = self.sent("record").await?;
        self.world.tick();
        let answer = self.world.model.record(partition, epoch, position, events).await;
        if answer.is_ok() {
            self.world.check().read(events);
        }
        self.back("record", fate, answer).await
    }

    async fn recorded(&self, partition: Partition) -> Result<(i64, u64), Error> {
        plain!(self, "recorded", self.world.model.recorded(partition))
    }

    async fn unrecorded(
        &self,
        partition: Partition,
        cursor: u64,
    ) -> Result<(Vec<TaskEvent>, Option<u64>), Error> {
        plain!(self, "unrecorded", self.world.model.unrecorded(partition, cursor))
    }

    async fn seal(&self, nonce: Nonce, origin: &Origin, batch: TaskId, seal: &Seal) -> Result<Sealed, Error> {
        let model = &self.world.model;
        once!(self, "seal", nonce, |told| model.seal(told, origin, batch, seal))
    }

    async fn sealed(&self, batch: TaskId) -> Result<Option<Sealed>, Error> {
        plain!(self, "sealed", self.world.model.sealed(batch))
    }

    async fn ended_batches(
        &self,
        partition: Partition,
        after: Option<TaskId>,
    ) -> Result<EndedBatches, Error> {
        plain!(
            self,
            "ended_batches",
            self.world.model.ended_batches(partition, after)
        )
    }

    async fn follow(&self, nonce: Nonce, batch: TaskId, task: TaskId) -> Result<Option<TaskId>, Error> {
        let model = &self.world.model;
        once!(self, "follow", nonce, |told| model.follow(told, batch, task))
    }

    async fn hold(&self, duty: &str, owner: &str, ttl_ms: i64) -> Result<bool, Error> {
        plain!(self, "hold", self.world.model.hold(duty, owner, ttl_ms))
    }

    async fn get(&self, id: TaskId) -> Result<Option<TaskView>, Error> {
        plain!(self, "get", self.world.model.get(id))
    }

    async fn timeline(&self, id: TaskId) -> Result<Vec<TimelineItem>, Error> {
        plain!(self, "timeline", self.world.model.timeline(id))
    }

    async fn output(&self, id: TaskId, attempt: Option<u32>) -> Result<Option<(u32, Bytes)>, Error> {
        plain!(self, "output", self.world.model.output(id, attempt))
    }

    async fn list(&self, filter: &TaskFilter, page: &Page) -> Result<Listed, Error> {
        plain!(self, "list", self.world.model.list(filter, page))
    }

    async fn batch(&self, batch: TaskId) -> Result<Option<BatchCounts>, Error> {
        plain!(self, "batch", self.world.model.batch(batch))
    }

    async fn stats(&self, partition: Partition) -> Result<PartitionStats, Error> {
        plain!(self, "stats", self.world.model.stats(partition))
    }

    async fn queues(&self, partition: Partition, pools: &[String]) -> Result<Vec<QueueStats>, Error> {
        plain!(self, "queues", self.world.model.queues(partition, pools))
    }

    async fn hours(&self, since: Millis) -> Result<Vec<(Millis, String, u64)>, Error> {
        plain!(self, "hours", self.world.model.hours(since))
    }

    async fn put_types(&self, types: &[TypeSpec]) -> Result<u64, Error> {
        plain!(self, "put_types", self.world.model.put_types(types))
    }

    async fn types(&self) -> Result<(u64, Vec<TypeSpec>), Error> {
        plain!(self, "types", self.world.model.types())
    }

    async fn types_version(&self) -> Result<u64, Error> {
        plain!(self, "types_version", self.world.model.types_version())
    }

    async fn standing(&self) -> Result<Standing, Error> {
        plain!(self, "standing", self.world.model.standing())
    }

    async fn found(&self, epoch: &Epoch) -> Result<Epoch, Error> {
        plain!(self, "found", self.world.model.found(epoch))
    }

    fn adopt(&self, epoch: &Epoch) {
        self.world.model.adopt(epoch);
    }

    fn condemn(&self, why: &str) {
        self.world.model.condemn(why);
    }

    fn condemned(&self) -> Option<String> {
        self.world.model.condemned()
    }

    async fn ping(&self) -> Result<Millis, Error> {
        plain!(self, "ping", self.world.model.ping())
    }
}
