//! What was not found where it was looked for first, until the outbox and the stream's new end have been read.

use std::collections::{HashMap, HashSet};

use domain::{Millis, Status, TaskId};
use store::TaskEvent;

use crate::report::Report;

/// Suspects of one pass; further ones can't be judged.
const SUSPECTS_MAX: usize = 500_000;

/// Transitions that the stream lacks, and tasks that the store lacks.
#[derive(Debug, Default)]
pub(crate) struct Suspects {
    /// In the store's timeline, when that happened, and not in the stream.
    missing: HashMap<(TaskId, u32), Millis>,
    /// In the stream, last seen in this status, and not in the store.
    lost: HashMap<TaskId, (u32, Status)>,
    dropped: u64,
}

impl Suspects {
    pub(crate) fn missing(&mut self, task: TaskId, version: u32, at: Millis) {
        if self.missing.len() < SUSPECTS_MAX {
            self.missing.insert((task, version), at);
        } else {
            self.dropped += 1;
        }
    }

    pub(crate) fn lost(&mut self, task: TaskId, last: (u32, Status)) {
        if self.lost.len() < SUSPECTS_MAX {
            self.lost.insert(task, last);
        } else {
            self.dropped += 1;
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.missing.is_empty() && self.lost.is_empty()
    }

    /// An event was found after all; whether it was looked for.
    pub(crate) fn found(&mut self, event: &TaskEvent) -> bool {
        if let Some(last) = self.lost.get_mut(&event.task_id)
            && last.0 < event.version
        {
            *last = (event.version, event.to);
        }
        self.missing.remove(&(event.task_id, event.version)).is_some()
    }

    /// What is left is an exception, but for what happened before `horizon` and so may have left the stream.
    pub(crate) fn judge(self, horizon: Millis, report: &mut Report) {
        report.in_flight("not judged, too many at once", self.dropped);
        let mut told = HashSet::new();
        let (mut trimmed, mut missing) = (0, Vec::new());
        for ((task, version), at) in self.missing {
            match at < horizon {
                true => trimmed += 1,
                false => missing.push((task, version)),
            }
        }
        report.trimmed("transitions", trimmed);
        missing.sort_unstable();
        for (task, version) in missing {
            if told.insert(task) {
                let text = format!(
                    "version {version} stands in its timeline, and neither in the outbox nor in the stream"
                );
                report.exception("I2", task, text);
            }
        }
        let mut lost: Vec<_> = self.lost.into_iter().collect();
        lost.sort_unstable_by_key(|(task, _)| *task);
        for (task, (version, status)) in lost.into_iter().filter(|(_, (_, status))| !status.is_terminal()) {
            let text = format!(
                "it was accepted and is not in the store; last seen in {} at version {version}",
                status.as_str()
            );
            report.exception("I1", task, text);
        }
    }
}
