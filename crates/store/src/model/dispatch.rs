//! dispatch and undispatch: out of the queue and back. No transition, no event.

use domain::TaskId;

use super::shard::{Place, Shard};
use crate::{BATCH_MAX, Dispatch, Dispatched, Released};

impl Shard {
    pub(super) fn dispatch(&mut self, ask: &Dispatch) -> Dispatched {
        let limit = ask.limit.min(BATCH_MAX);
        let until = self.now + self.dispatch_lease_ms;
        let line = self.lines.entry((ask.pool.clone(), ask.tier)).or_default();
        let taken = line.take(&ask.types, limit, ask.oldest);
        let mut types = line.types();
        types.truncate(BATCH_MAX);
        // Of a type that the caller did not name only that it waits is told.
        let count = |name: &String| {
            if ask.types.contains(name) {
                line.count(name)
            } else {
                1
            }
        };
        let left = types.iter().map(count).sum();
        for (id, ..) in &taken {
            self.enter(*id, Place::Dispatched(until));
        }
        Dispatched {
            tasks: taken,
            types,
            left,
            now: self.now,
        }
    }

    pub(super) fn undispatch(&mut self, ids: &[TaskId]) -> Released {
        let mut released = Released::default();
        for id in ids {
            let dispatched = self
                .records
                .get(id)
                .is_some_and(|record| matches!(record.place, Place::Dispatched(_)));
            if dispatched {
                self.queue(*id, &mut released);
            }
        }
        released
    }

    /// Puts a waiting task into its queue, with its old place in line.
    pub(super) fn queue(&mut self, id: TaskId, released: &mut Released) {
        let Some(record) = self.records.get(&id) else {
            return;
        };
        let task = &record.task;
        let queue = (task.pool.clone(), task.tier, task.task_type.clone());
        let since = task.next_run_time;
        released.count += 1;
        if self.shift(id, Place::Queue(since)) {
            released.queues.push(queue);
        }
    }
}
