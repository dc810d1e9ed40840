//! Which queues have tasks, as far as this dispatcher knows. A hint adds, a look at the store corrects.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use domain::{Millis, Partition, Tier};
use tokio::sync::Notify;

/// A queue of queues: all types of one pool and tier in one partition.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Line {
    pub(crate) pool: String,
    pub(crate) tier: Tier,
    pub(crate) partition: Partition,
}

/// What is known of a line.
#[derive(Debug, Clone, Default)]
pub(crate) struct Known {
    /// Types that wait there.
    pub(crate) types: BTreeSet<String>,
    /// When the oldest was due, if that was looked up.
    pub(crate) oldest: Option<Millis>,
}

/// All lines that have tasks.
#[derive(Default)]
pub(crate) struct Waiting {
    lines: Mutex<BTreeMap<Line, Known>>,
    woken: Notify,
}

impl Waiting {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<Line, Known>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, line: Line, types: impl IntoIterator<Item = String>) {
        self.lock().entry(line).or_default().types.extend(types);
        self.wake();
    }

    pub(crate) fn looked_up(&self, line: Line, oldest: Millis) {
        self.lock().entry(line).or_default().oldest = Some(oldest);
    }

    pub(crate) fn known(&self, line: &Line) -> Known {
        self.lock().get(line).cloned().unwrap_or_default()
    }

    /// After a dispatch: the types that still wait.
    pub(crate) fn replace(&self, line: &Line, types: Vec<String>) {
        let mut lines = self.lock();
        if types.is_empty() {
            lines.remove(line);
        } else if let Some(known) = lines.get_mut(line) {
            known.types = types.into_iter().collect();
        }
    }

    pub(crate) fn pools(&self) -> BTreeSet<String> {
        self.lock().keys().map(|line| line.pool.clone()).collect()
    }

    pub(crate) fn lines_of(&self, pool: &str) -> Vec<Line> {
        self.lock()
            .keys()
            .filter(|line| line.pool == pool)
            .cloned()
            .collect()
    }

    /// Lines of the pool whose oldest task waited over its tier's `max_wait` (I8), the most overdue first.
    pub(crate) fn aged(&self, pool: &str, now: Millis) -> Vec<Line> {
        let lines = self.lock();
        let overdue = |(line, known): (&Line, &Known)| {
            let over = now - known.oldest? - line.tier.max_wait_ms();
            (line.pool == pool && over > 0).then(|| (-over, line.clone()))
        };
        let mut aged: Vec<_> = lines.iter().filter_map(overdue).collect();
        aged.sort();
        aged.into_iter().map(|(_, line)| line).collect()
    }

    pub(crate) fn wake(&self) {
        self.woken.notify_one();
    }

    pub(crate) async fn woken(&self) {
        self.woken.notified().await;
    }
}
