//! The recorder's side: position and statistics in one step, and what it has not seen yet.

use domain::{Millis, RunTimes, Status};

use super::shard::{Shard, event_of};
use crate::{BATCH_MAX, OutboxEntry, Recorded, TaskEvent};

const HOUR_MS: Millis = 3_600_000;
pub(super) const DAY_MS: Millis = 24 * HOUR_MS;

impl Shard {
    pub(super) fn record(&mut self, epoch: i64, position: u64, events: &[TaskEvent]) -> Recorded {
        if self.recorded.0 == epoch && self.recorded.1 >= position {
            return Recorded {
                fresh: 0,
                repeated: events.len(),
                position: self.recorded.1,
            };
        }
        self.recorded = (epoch, position);
        let fresh = events.iter().filter(|event| self.count(event)).count();
        Recorded {
            fresh,
            repeated: events.len() - fresh,
            position,
        }
    }

    /// Counts one event; whether it is the first time. A task that is gone was counted whole before it went.
    fn count(&mut self, event: &TaskEvent) -> bool {
        let Some(record) = self.records.get_mut(&event.task_id) else {
            return false;
        };
        if !record.seen.insert(event.version) {
            return false;
        }
        let hour = event.at - event.at.rem_euclid(HOUR_MS);
        let mut add = |what: &str, by: i64| {
            if let Ok(by @ 1..) = u64::try_from(by) {
                let field = format!("{}|{what}", event.task_type);
                *self.hours.entry((hour, field)).or_default() += by;
            }
        };
        add(event.to.as_str(), 1);
        if event.to == Status::Running {
            add("wait_ms", event.wait_ms);
        }
        add("run_ms", event.run_ms);
        if event.to == Status::Success {
            let of_day = (event.task_type.clone(), event.at.div_euclid(DAY_MS));
            let times = self.run_times.entry(of_day).or_default();
            times.add(RunTimes::bucket(event.run_ms), 1);
        }
        if event.attempt > 0 {
            let of_day = (event.task_type.clone(), event.at.div_euclid(DAY_MS));
            let most = self.attempts_max.entry(of_day).or_default();
            *most = (*most).max(event.attempt);
        }
        true
    }

    pub(super) fn unrecorded(&self, cursor: u64) -> (Vec<TaskEvent>, Option<u64>) {
        let ids = self.order.range(cursor..);
        let slice: Vec<_> = ids.take(BATCH_MAX).collect();
        let events = slice
            .iter()
            .filter_map(|(_, id)| self.records.get(id))
            .filter(|record| !record.is_recorded())
            .flat_map(|record| record.timeline.iter().map(|item| event_of(&record.task, item)))
            .collect();
        let last = slice.last().filter(|_| slice.len() == BATCH_MAX);
        let next = last.map(|(position, _)| **position + 1);
        (events, next)
    }

    pub(super) fn waiting(&self, entry: Option<&OutboxEntry>) -> bool {
        entry
            .and_then(|entry| entry.id.parse().ok())
            .is_some_and(|number: u64| self.outbox.contains_key(&number))
    }

    pub(super) fn waiting_since(&self, until: Millis, limit: usize) -> Vec<OutboxEntry> {
        self.outbox
            .iter()
            .filter(|(_, events)| events.first().is_none_or(|event| event.at <= until))
            .take(limit)
            .map(|(number, events)| self.entry(*number, events.clone()))
            .collect()
    }
}
