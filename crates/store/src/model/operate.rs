//! operate: a person's hand on tasks.

use domain::{Event, TaskId};

use super::shard::Shard;
use crate::{Operation, Origin, Verdict};

impl Shard {
    pub(super) fn operate(&mut self, origin: &Origin, operation: Operation, ids: &[TaskId]) -> Vec<Verdict> {
        let event = event(operation);
        ids.iter().map(|id| self.apply(*id, &event, origin, 0)).collect()
    }
}

/// The event of an operation.
pub(crate) const fn event(operation: Operation) -> Event {
    match operation {
        Operation::Cancel => Event::Cancel,
        Operation::Retry { max_retry } => Event::Retry { max_retry },
        Operation::Reset { max_retry } => Event::Reset { max_retry },
        Operation::Set {
            max_retry,
            next_run_time,
            run_timeout_ms,
        } => Event::Set {
            max_retry,
            next_run_time,
            run_timeout_ms,
        },
    }
}
