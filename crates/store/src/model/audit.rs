//! What the audit reads. A model keeps each task in one place, so there is nothing to be found wrong.

use async_trait::async_trait;
use domain::{Millis, Partition, TaskId, Tier};

use super::Model;
use super::shard::{Place as Stands, Record, Shard};
use crate::{AUDIT_PAGE, AuditPage, AuditStore, AuditedTask, BATCH_MAX, Error, OutboxEntry, Place, Tally};

#[async_trait]
impl AuditStore for Model {
    async fn audit_page(
        &self,
        partition: Partition,
        cursor: u64,
        wanted: &(dyn for<'a> Fn(&'a TaskId) -> bool + Sync),
    ) -> Result<AuditPage, Error> {
        let clock = self.clock.now();
        self.on(partition, |shard| {
            let slice: Vec<_> = shard.order.range(cursor..).take(AUDIT_PAGE).collect();
            let last = slice.last().filter(|_| slice.len() == AUDIT_PAGE);
            let next = last.map(|(position, _)| **position + 1);
            let ids: Vec<_> = slice.iter().map(|(_, id)| **id).filter(|id| wanted(id)).collect();
            Ok(AuditPage {
                next,
                ..page(shard, clock, &ids)
            })
        })
    }

    async fn audit_tasks(&self, partition: Partition, ids: &[TaskId]) -> Result<AuditPage, Error> {
        let clock = self.clock.now();
        self.on(partition, |shard| Ok(page(shard, clock, ids)))
    }

    async fn orphans(&self, _: Partition, _: Place, _: usize) -> Result<(Vec<TaskId>, bool), Error> {
        Ok((Vec::new(), false))
    }

    async fn queue_orphans(
        &self,
        _: Partition,
        _: (&str, Tier, &str),
        _: usize,
    ) -> Result<(Vec<TaskId>, bool), Error> {
        Ok((Vec::new(), false))
    }

    async fn outbox_after(
        &self,
        partition: Partition,
        after: Option<&str>,
    ) -> Result<Vec<OutboxEntry>, Error> {
        let after: u64 = after.and_then(|id| id.parse().ok()).unwrap_or(0);
        self.on(partition, |shard| {
            let waiting = shard.outbox.range(after + 1..).take(BATCH_MAX);
            Ok(waiting
                .map(|(number, events)| shard.entry(*number, events.clone()))
                .collect())
        })
    }

    async fn tally(&self, partition: Partition) -> Result<Option<Tally>, Error> {
        self.on(partition, |shard| {
            let mut tally = Tally::default();
            for record in shard.records.values() {
                let at = (record.task.task_type.clone(), record.task.status);
                *tally.tasks.entry(at).or_default() += 1;
            }
            tally.counters = tally.tasks.clone();
            Ok(Some(tally))
        })
    }
}

fn page(shard: &Shard, clock: Millis, ids: &[TaskId]) -> AuditPage {
    let tasks = ids.iter().filter_map(|id| shard.records.get(id));
    AuditPage {
        now: clock.max(shard.now),
        tasks: tasks.map(|record| audited(shard, record)).collect(),
        next: None,
    }
}

fn audited(shard: &Shard, record: &Record) -> AuditedTask {
    let task = record.task.clone();
    let place = match record.place {
        Stands::Due(at) => Some((Place::Due, at)),
        Stands::Queue(at) => Some((Place::Queue, at)),
        Stands::Dispatched(at) => Some((Place::Dispatched, at)),
        Stands::Lease(at) => Some((Place::Lease, at)),
        Stands::Blocked => Some((Place::Blocked, 0)),
        Stands::Ended => (task.status == domain::Status::Dead).then_some((Place::Dead, task.finished_at)),
    };
    let key = (task.task_type.clone(), task.idempotency_key.clone());
    AuditedTask {
        timeline: record.timeline.clone(),
        places: place.into_iter().collect(),
        key_holder: shard.keys.get(&key).map(|kept| kept.id),
        payload: record.payload.clone(),
        task,
    }
}
