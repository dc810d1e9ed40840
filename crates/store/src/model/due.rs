//! release_due and reclaim: what time does to tasks.

use domain::{Event, TaskId};

use super::shard::Shard;
use crate::{BATCH_MAX, Origin, Released, Verdict};

impl Shard {
    pub(super) fn release_due(&mut self) -> Released {
        let now = self.now;
        let due = self.due.iter().take_while(|(at, _)| *at <= now);
        let old = self.dispatched.iter().take_while(|(at, _)| *at <= now);
        let found: Vec<TaskId> = due.chain(old).take(BATCH_MAX).map(|(_, id)| *id).collect();
        let mut released = Released {
            more: found.len() == BATCH_MAX,
            ..Released::default()
        };
        for id in found {
            self.queue(id, &mut released);
        }
        released
    }

    pub(super) fn reclaim(&mut self, origin: &Origin, lease_ms: i64) -> Vec<(TaskId, Verdict)> {
        self.lease_ms = lease_ms;
        if self.guarded(lease_ms) {
            return Vec::new();
        }
        let now = self.now;
        let ended: Vec<TaskId> = self
            .leases
            .iter()
            .take_while(|(end, _)| *end < now)
            .take(BATCH_MAX)
            .map(|(_, id)| *id)
            .collect();
        ended
            .into_iter()
            .map(|id| (id, self.apply(id, &Event::Reclaim, origin, 0)))
            .collect()
    }
}
