//! What must hold when the faults are over and everything had its time.

use std::collections::BTreeMap;

use bytes::Bytes;
use domain::{Millis, Status, TaskId};
use store::TaskView;

use super::Check;

/// What the handler makes of a payload.
pub(crate) fn result_of(payload: &[u8]) -> Bytes {
    payload.iter().rev().copied().collect::<Vec<u8>>().into()
}

impl Check {
    /// Everything reached its end (I5).
    pub(crate) fn left_over(&mut self, now: Millis, waited_ms: i64) {
        let left: Vec<_> = self
            .tasks
            .iter()
            .filter(|(_, seen)| !seen.status.is_terminal() && seen.due <= now)
            .map(|(id, seen)| (*id, seen.status, seen.lease))
            .collect();
        for (id, status, lease) in left {
            self.say(
                "I5",
                format!("{id} is {status:?} ({lease:?}), {waited_ms} ms after the last fault"),
            );
        }
    }

    /// A client's submissions are tasks (I1), with their very bytes (I10).
    pub(crate) fn accepted_are_there(&mut self, views: &BTreeMap<TaskId, TaskView>) {
        let accepted: Vec<_> = self.accepted.clone().into_iter().collect();
        for ((_, key), accepted) in accepted {
            let Some(view) = views.get(&accepted.id) else {
                self.say(
                    "I1",
                    format!("{key} was accepted, and there is no task {}", accepted.id),
                );
                continue;
            };
            if view.task.idempotency_key != key {
                self.say(
                    "I1",
                    format!("{key} was accepted as {}, of another key", accepted.id),
                );
            }
            if view.payload != accepted.payload {
                self.say("I10", format!("the payload of {} is another", accepted.id));
            }
        }
        for (id, view) in views {
            if view.task.status == Status::Success && view.result != result_of(&view.payload) {
                self.say("I10", format!("the result of {id} is another"));
            }
        }
    }

    /// What the stream of submissions acknowledged became a task.
    pub(crate) fn promised_are_there(&mut self) {
        if self.wiped {
            return;
        }
        let missing: Vec<_> = self
            .promised
            .iter()
            .filter(|at| !self.keys.contains_key(*at))
            .map(|(_, key)| key.clone())
            .collect();
        for key in missing {
            self.say(
                "I1",
                format!("{key} was acknowledged by the stream, and is no task"),
            );
        }
    }

    /// A handler starts at most once for each attempt.
    pub(crate) fn effects_fit(&mut self) {
        let effects: Vec<_> = self.effects.iter().map(|(id, count)| (*id, *count)).collect();
        for (id, starts) in effects {
            let attempts = self.tasks.get(&id).map_or(0, |seen| seen.attempts);
            if starts > attempts {
                self.say(
                    "I3",
                    format!("{id} was started {starts} times in {attempts} attempts"),
                );
            }
        }
    }

    /// Every transition was read (I2), and counted once (I9).
    pub(crate) fn all_read(&mut self, counted: &BTreeMap<String, u64>) {
        let mut expected: BTreeMap<String, u64> = BTreeMap::new();
        let mut unread = Vec::new();
        for (id, seen) in &self.tasks {
            for (status, times) in &seen.came {
                *expected
                    .entry(format!("{}|{}", seen.task_type, status.as_str()))
                    .or_default() += times;
            }
            unread.extend(
                (1..=seen.version)
                    .filter(|version| !self.read.contains(&(*id, *version)))
                    .map(|version| (*id, version)),
            );
        }
        for (id, version) in unread.into_iter().take(3) {
            self.say("I2", format!("the recorder never read version {version} of {id}"));
        }
        for (field, times) in &expected {
            let counted = counted.get(field).copied().unwrap_or(0);
            if counted != *times {
                self.say(
                    "I9",
                    format!("{field} happened {times} times and is counted {counted} times"),
                );
            }
        }
    }

    /// Whether every submission that the stream has is a task.
    pub(crate) fn promises_are_kept(&self) -> bool {
        self.wiped || self.promised.iter().all(|at| self.keys.contains_key(at))
    }

    /// Whether the recorder was given every transition.
    pub(crate) fn is_read(&self) -> bool {
        self.tasks
            .iter()
            .all(|(id, seen)| (1..=seen.version).all(|version| self.read.contains(&(*id, version))))
    }
}
