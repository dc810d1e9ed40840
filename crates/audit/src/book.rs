//! The book of one pass: which transitions the stream holds, task by task, in bounded memory.
//!
//! Where a partition holds more than fits, a pass keeps one share of the tasks (by their id), and further passes read the
//! stream again for the others.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use domain::{Millis, Status, TaskId, TimelineItem};
use store::TaskEvent;

/// Transitions that one pass keeps; 8 bytes each, and about 100 a task.
const KEPT_MAX: usize = 1_000_000;

/// A share of all tasks: those whose id is `at` modulo `of`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) at: u64,
    pub(crate) of: u64,
}

impl Share {
    pub(crate) const ALL: Self = Self { at: 0, of: 1 };

    pub(crate) fn holds(self, id: &TaskId) -> bool {
        // Bytes 8 to 13 are random in every id.
        let bytes = id.as_bytes();
        let number = bytes[8..14]
            .iter()
            .fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
        number % self.of == self.at
    }

    /// The two halves of this share.
    pub(crate) const fn halves(self) -> [Self; 2] {
        let of = self.of * 2;
        [
            Self { at: self.at, of },
            Self {
                at: self.at + self.of,
                of,
            },
        ]
    }
}

/// What the stream holds of a task.
#[derive(Debug, Clone, Default)]
pub(crate) struct Entry {
    /// Versions and the marks of their transitions, in the order of the stream.
    versions: Vec<(u32, u32)>,
    /// The highest version, and where the task stood then.
    pub(crate) last: Option<(u32, Status)>,
    pub(crate) last_at: Millis,
    /// Met in the store.
    pub(crate) met: bool,
}

/// A repeat that is none: the same version of a task with another transition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Contradiction {
    pub(crate) version: u32,
}

impl Entry {
    /// The mark of a version, if the stream holds it.
    pub(crate) fn mark(&self, version: u32) -> Option<u32> {
        let found = self.versions.iter().find(|(known, _)| *known == version);
        found.map(|(_, mark)| *mark)
    }

    /// The first version that the stream holds, and those that it lacks before its last.
    pub(crate) fn holes(&self) -> (u32, Vec<u32>) {
        let mut versions: Vec<_> = self.versions.iter().map(|(version, _)| *version).collect();
        versions.sort_unstable();
        let first = versions.first().copied().unwrap_or(0);
        let holes = versions
            .windows(2)
            .flat_map(|pair| pair[0] + 1..pair[1])
            .take(64)
            .collect();
        (first, holes)
    }
}

/// The book of one pass.
#[derive(Debug)]
pub(crate) struct Book {
    pub(crate) share: Share,
    /// Shares that other passes have to take.
    pub(crate) left: Vec<Share>,
    pub(crate) entries: HashMap<TaskId, Entry>,
    kept: usize,
    most: usize,
}

/// What a transition is, in 32 bits: events and timelines that say the same have the same mark.
fn mark_of(from: Option<Status>, to: Status, at: Millis, attempt: u32) -> u32 {
    let mut hasher = DefaultHasher::new();
    (from.map_or(0, |from| from as u8), to as u8, at, attempt).hash(&mut hasher);
    hasher.finish() as u32
}

/// The mark of an item of a timeline.
pub(crate) fn mark_of_item(item: &TimelineItem) -> u32 {
    mark_of(item.from, item.to, item.at, item.attempt)
}

impl Book {
    pub(crate) fn new(share: Share) -> Self {
        Self::with_room(share, KEPT_MAX)
    }

    fn with_room(share: Share, most: usize) -> Self {
        Self {
            share,
            left: Vec::new(),
            entries: HashMap::new(),
            kept: 0,
            most,
        }
    }

    /// Writes an event down; whether it was new, or contradicts what stands there.
    pub(crate) fn write(&mut self, event: &TaskEvent) -> Result<bool, Contradiction> {
        if !self.share.holds(&event.task_id) {
            return Ok(false);
        }
        let mark = mark_of(event.from, event.to, event.at, event.attempt);
        let entry = self.entries.entry(event.task_id).or_default();
        match entry.mark(event.version) {
            Some(known) if known == mark => return Ok(false),
            Some(_) => {
                return Err(Contradiction {
                    version: event.version,
                });
            }
            None => {}
        }
        entry.versions.push((event.version, mark));
        if entry.last.is_none_or(|(last, _)| last < event.version) {
            entry.last = Some((event.version, event.to));
            entry.last_at = event.at;
        }
        self.kept += 1;
        if self.kept > self.most {
            self.halve();
        }
        Ok(true)
    }

    /// Gives half of the tasks to another pass.
    fn halve(&mut self) {
        let [stays, goes] = self.share.halves();
        self.share = stays;
        self.left.push(goes);
        self.entries.retain(|id, _| stays.holds(id));
        self.kept = self.entries.values().map(|entry| entry.versions.len()).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::Tier;

    fn event(task: u8, version: u32, to: Status) -> TaskEvent {
        let mut random = [task; 10];
        random[2] = 0x80;
        TaskEvent {
            task_id: TaskId::new(1_700_000_000_000, random),
            version,
            from: None,
            to,
            at: 5,
            attempt: 0,
            actor: String::new(),
            node: String::new(),
            reason: String::new(),
            error_class: None,
            error_code: String::new(),
            task_type: "t".into(),
            pool: "p".into(),
            tier: Tier::Normal,
            batch_id: None,
            retry_count: 0,
            max_retry: 0,
            wait_ms: 0,
            run_ms: 0,
            delay_ms: 0,
            sampled: false,
            schedule_id: String::new(),
        }
    }

    #[test]
    fn repeats_count_once_and_contradictions_are_told() {
        let mut book = Book::new(Share::ALL);
        assert_eq!(book.write(&event(1, 1, Status::Pending)), Ok(true));
        assert_eq!(book.write(&event(1, 3, Status::Success)), Ok(true));
        assert_eq!(book.write(&event(1, 1, Status::Pending)), Ok(false));
        assert_eq!(
            book.write(&event(1, 1, Status::Dead)),
            Err(Contradiction { version: 1 })
        );
        let entry = book.entries.values().next().unwrap();
        assert_eq!(entry.last, Some((3, Status::Success)));
        assert_eq!(entry.holes(), (1, vec![2]));
    }

    #[test]
    fn what_does_not_fit_is_left_to_other_passes_and_none_is_lost() {
        let all: Vec<_> = (0..=255).map(|task| event(task, 1, Status::Pending)).collect();
        let (mut todo, mut seen, mut passes) = (vec![Share::ALL], 0, 0);
        while let Some(share) = todo.pop() {
            let mut book = Book::with_room(share, 50);
            for event in &all {
                book.write(event).unwrap();
            }
            assert!(book.entries.len() <= 51);
            seen += book.entries.len();
            todo.append(&mut book.left);
            passes += 1;
        }
        assert_eq!(seen, 256);
        assert!(passes >= 6, "{passes}");
    }
}
