//! Admission of any number of tasks: grouped by partition, bounded calls side by side, then the hints.

use std::{
    collections::{HashMap, HashSet},
    time::Instant,
};

use bytes::Bytes;
use domain::{Partition, Tier};
use futures::{StreamExt, stream};
use proto::{ReadyHint, WorkHint, WorkItem};
use store::{AdmitCall, Admitted, Hint, NewTask, Origin, Reply, admit_calls};

use crate::{gate::Gate, play::play, refusal::Refusal};

/// Calls of one request that run side by side.
const CALLS_AT_ONCE: usize = 32;

impl Gate {
    /// Accepts tasks; one answer for each, in order. Hints and events are on their way when it returns.
    pub(crate) async fn admit(
        &self,
        origin: &Origin,
        mut tasks: Vec<NewTask>,
        source: &'static str,
    ) -> Vec<Result<Admitted, Refusal>> {
        self.take_short_way(&mut tasks);
        let count = tasks.len();
        let calls = admit_calls(tasks, self.store.partitions());
        let mut answers: Vec<_> = (0..count)
            .map(|_| Err(Refusal::unavailable("the store gave no answer for this task")))
            .collect();
        let mut running = stream::iter(calls)
            .map(|call| self.admit_call(origin, call, source))
            .buffer_unordered(CALLS_AT_ONCE);
        while let Some((places, results)) = running.next().await {
            for (place, result) in places.into_iter().zip(results) {
                answers[place] = result;
            }
        }
        answers
    }

    /// Marks as many tasks as the pools have free slots: the store dispatches them in the same step, if nothing older
    /// waits.
    fn take_short_way(&self, tasks: &mut [NewTask]) {
        if !self.bus.is_ready() {
            return;
        }
        let mut wanted: HashMap<String, usize> = HashMap::new();
        for task in tasks.iter().filter(|task| is_due(task)) {
            match wanted.get_mut(&task.pool) {
                Some(count) => *count += 1,
                None => drop(wanted.insert(task.pool.clone(), 1)),
            }
        }
        let now = Instant::now();
        for (pool, wanted) in wanted {
            let granted = self.credit.reserve(&pool, wanted, now);
            let due = tasks.iter_mut().filter(|task| task.pool == pool && is_due(task));
            due.take(granted).for_each(|task| task.direct = true);
        }
    }

    async fn admit_call(
        &self,
        origin: &Origin,
        call: AdmitCall,
        source: &'static str,
    ) -> (Vec<usize>, Vec<Result<Admitted, Refusal>>) {
        let AdmitCall {
            partition,
            places,
            tasks,
            ..
        } = call;
        let answer = play(|nonce| self.store.admit(partition, nonce, origin, &tasks)).await;
        let results = match answer {
            Ok(reply) => {
                self.count(&tasks, &reply, source);
                self.hint(partition, &tasks, &reply).await;
                self.announcer.announce_admitted(reply.outbox, &tasks);
                reply.items.into_iter().map(Ok).collect()
            }
            Err(error) => {
                self.give_back(tasks.iter());
                let refusal = Refusal::from(error);
                places.iter().map(|_| Err(refusal.clone())).collect()
            }
        };
        (places, results)
    }

    fn count(&self, tasks: &[NewTask], reply: &Reply<Admitted>, source: &'static str) {
        for (task, item) in tasks.iter().zip(&reply.items) {
            if let Admitted::Created { .. } = item {
                self.metrics.submitted(&task.task_type, source);
            }
        }
    }

    /// Sends what the store asked for. A hint that does not go out is only late: the dispatch lease heals it.
    async fn hint(&self, partition: Partition, tasks: &[NewTask], reply: &Reply<Admitted>) {
        let mut work: Vec<WorkHint> = Vec::new();
        let mut ready: HashSet<(&str, Tier, &str)> = HashSet::new();
        for (task, item) in tasks.iter().zip(&reply.items) {
            match hint_of(item) {
                Hint::Work => add_work(&mut work, partition, task, item, reply.now),
                Hint::Ready => drop(ready.insert((&task.pool, task.tier, &task.task_type))),
                Hint::None => {}
            }
        }
        let unused = tasks
            .iter()
            .zip(&reply.items)
            .filter(|(_, item)| hint_of(item) != Hint::Work);
        self.give_back(unused.map(|(task, _)| task));
        for hint in &work {
            told("work", self.publisher.publish_work(hint).await);
        }
        for (pool, tier, task_type) in ready {
            self.hint_ready(partition, pool, tier, task_type).await;
        }
    }

    /// Says that a queue may not be empty any more.
    pub(crate) async fn hint_ready(&self, partition: Partition, pool: &str, tier: Tier, task_type: &str) {
        let hint = ReadyHint {
            partition: partition.into(),
            pool: pool.to_owned(),
            tier: tier as u32,
            task_type: task_type.to_owned(),
        };
        told("ready", self.publisher.publish_ready(&hint).await);
    }

    fn give_back<'t>(&self, tasks: impl Iterator<Item = &'t NewTask>) {
        for task in tasks.filter(|task| task.direct) {
            self.credit.release(&task.pool, 1);
        }
    }
}

fn told(kind: &'static str, sent: Result<(), messaging::Error>) {
    if let Err(error) = sent {
        tracing::debug!(kind, %error, "a hint was not sent");
    }
}

const fn is_due(task: &NewTask) -> bool {
    task.delay_ms == 0 && task.at == 0 && task.rejected.is_none()
}

const fn hint_of(item: &Admitted) -> Hint {
    match item {
        Admitted::Created { hint, .. } => *hint,
        Admitted::Existing { .. } | Admitted::Conflict { .. } => Hint::None,
    }
}

fn add_work(work: &mut Vec<WorkHint>, partition: Partition, task: &NewTask, item: &Admitted, now: i64) {
    let Admitted::Created { id, .. } = item else {
        return;
    };
    let item = WorkItem {
        task_id: Bytes::copy_from_slice(id.as_bytes()),
        task_type: task.task_type.clone(),
        batch_id: task
            .batch_id
            .map_or_else(Bytes::new, |batch| Bytes::copy_from_slice(batch.as_bytes())),
    };
    let tier = task.tier as u32;
    match work
        .iter_mut()
        .find(|hint| hint.pool == task.pool && hint.tier == tier)
    {
        Some(hint) => hint.items.push(item),
        None => work.push(WorkHint {
            partition: partition.into(),
            pool: task.pool.clone(),
            tier,
            items: vec![item],
            dispatched_at_ms: now,
        }),
    }
}
