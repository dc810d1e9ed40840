//! retain: terminal tasks leave after their time, once the recorder has them.

use domain::{Millis, Status, TaskId};

use super::shard::{Record, Shard};
use crate::{BATCH_MAX, Removed, Retention};

impl Shard {
    pub(super) fn retain(&mut self, retention: &Retention) -> Removed {
        let mut ended: Vec<(Millis, TaskId)> = self
            .records
            .values()
            .filter(|record| record.task.status.is_terminal())
            .map(|record| (record.task.finished_at, record.task.id))
            .collect();
        ended.sort_unstable();
        let mut surplus = (ended.len() as u64).saturating_sub(retention.count);
        let mut removed = Removed::default();
        for (_, id) in ended {
            let Some(record) = self.records.get(&id) else {
                continue;
            };
            let old =
                keep_ms(retention, record).is_some_and(|keep| record.task.finished_at + keep <= self.now);
            if !(old || surplus > 0) || !record.is_recorded() {
                continue;
            }
            if removed.tasks == BATCH_MAX {
                removed.more = true;
                break;
            }
            surplus = surplus.saturating_sub(1);
            self.remove(id);
            removed.tasks += 1;
        }
        removed
    }

    fn remove(&mut self, id: TaskId) {
        self.leave(id);
        let Some(record) = self.records.remove(&id) else {
            return;
        };
        self.order.retain(|_, other| *other != id);
        let task = record.task;
        if let Some(batch) = task.batch_id {
            self.leave_batch(batch, task.status);
        }
        let key = (task.task_type, task.idempotency_key);
        if task.key_until <= self.now {
            self.keys.remove(&key);
        } else if let Some(kept) = self.keys.get_mut(&key) {
            kept.last = Some(task.status);
        }
        self.keys
            .retain(|_, kept| kept.last.is_none() || kept.until > self.now);
    }
}

fn keep_ms(retention: &Retention, record: &Record) -> Option<i64> {
    match record.task.status {
        Status::Success => Some(retention.success_ms),
        Status::Cancelled => Some(retention.cancelled_ms),
        Status::Dead => Some(retention.dead_ms),
        Status::Pending | Status::Running | Status::Failed | Status::Retrying | Status::Timeout => None,
    }
}
