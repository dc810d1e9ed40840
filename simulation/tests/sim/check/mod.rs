//! The invariants, checked after every call by a picture of one's own: what the store answered, and nothing else.

mod calls;
mod counts;
pub(crate) mod end;
mod plans;
pub(crate) mod tasks;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use bytes::Bytes;
use domain::{Millis, Status, TaskId, Token, Violation};
use store::Nonce;

use crate::world::Who;

/// What is due later than this from now is not waited for: the default backoff, where an executor could not read the
/// type of a task.
const FAR_MS: Millis = 10_000;

/// A lease as it was given or renewed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lease {
    token: Token,
    end: Millis,
}

/// A task as its transitions tell it.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) status: Status,
    version: u32,
    task_type: String,
    lease: Option<Lease>,
    attempts: u32,
    /// When its next attempt is due, where it waits for one.
    due: Millis,
    /// How often it came to each status.
    came: BTreeMap<Status, u64>,
}

/// What a client was told of its submission.
#[derive(Debug, Clone)]
pub(crate) struct Accepted {
    pub(crate) id: TaskId,
    pub(crate) payload: Bytes,
}

/// A fire of a schedule.
type Instant = (String, Millis);

/// All that was seen.
#[derive(Debug, Default)]
pub(crate) struct Check {
    pub(crate) found: Vec<Violation>,
    pub(crate) tasks: BTreeMap<TaskId, Seen>,
    tokens: HashSet<Token>,
    pub(crate) ran: HashSet<Nonce>,
    pub(crate) first_answers: HashMap<Nonce, u64>,
    /// Tasks whose claim a process knows the answer of.
    answers: HashSet<(Who, TaskId)>,
    /// Times in which nobody reached the store.
    pub(crate) outages: Vec<(Millis, Millis)>,
    /// By type and key: the task that was made.
    keys: BTreeMap<(String, String), (TaskId, [u8; 32])>,
    /// By type and key: what clients were told.
    pub(crate) accepted: BTreeMap<(String, String), Accepted>,
    /// By type and key: submissions that the stream has.
    pub(crate) promised: BTreeSet<(String, String)>,
    /// People who have not said all yet.
    pub(crate) talking: usize,
    fires: BTreeMap<Instant, TaskId>,
    /// Starts of the handler, by task.
    pub(crate) effects: BTreeMap<TaskId, u32>,
    read: HashSet<(TaskId, u32)>,
    changed: bool,
    /// The bus lost all that it had, and with it submissions that nobody had taken.
    pub(crate) wiped: bool,
}

impl Check {
    pub(crate) fn say(&mut self, invariant: &'static str, evidence: String) {
        self.found.push(Violation { invariant, evidence });
    }

    /// Whether anything changed since this was last asked.
    pub(crate) fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }

    /// Whether every task that is known has ended, or waits for a time that is far.
    pub(crate) fn all_ended(&self, now: Millis) -> bool {
        self.tasks
            .values()
            .all(|seen| seen.status.is_terminal() || seen.due > now + FAR_MS)
    }
}
