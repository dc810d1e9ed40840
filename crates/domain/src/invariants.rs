//! Invariants as checkable functions; tests and the audit cite the numbers.

use std::fmt;

use crate::{Status, TRANSITIONS, Task, TimelineItem};

/// An invariant that does not hold, with the evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The invariant's number in the design, such as `I2`.
    pub invariant: &'static str,
    /// What was seen.
    pub evidence: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.invariant, self.evidence)
    }
}

/// What is wrong with one record, seen alone.
#[must_use]
pub fn check_task(task: &Task) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut say = |invariant, evidence: &str| {
        found.push(Violation {
            invariant,
            evidence: format!("{} {evidence}", task.id),
        })
    };
    if matches!(task.status, Status::Failed | Status::Timeout) {
        say("I2", "rests in a status that is only passed through");
    }
    if (task.status == Status::Running) != task.lease_token.is_some() {
        say("I4", "running and the lease token disagree");
    }
    if task.status.is_terminal() != (task.finished_at > 0) {
        say("I6", "terminal and finished_at disagree");
    }
    if task.retry_count > task.max_retry && !task.status.is_terminal() {
        say("I2", "spent more retries than it may");
    }
    found
}

/// What is wrong with the whole timeline of a task: versions 1..n without a hole, each step in the table, joined (I2),
/// at most one success (I6).
#[must_use]
pub fn check_timeline(items: &[TimelineItem]) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut before: Option<&TimelineItem> = None;
    for item in items {
        let expected = before.map_or(item.version, |before| before.version + 1);
        if item.version != expected {
            found.push(Violation {
                invariant: "I2",
                evidence: format!("version {} where {expected} was due", item.version),
            });
        }
        if before.is_some_and(|before| item.from != Some(before.to)) {
            found.push(Violation {
                invariant: "I2",
                evidence: format!(
                    "version {} does not start where the one before ended",
                    item.version
                ),
            });
        }
        if !TRANSITIONS
            .iter()
            .any(|row| row.from == item.from && row.to == item.to)
        {
            found.push(Violation {
                invariant: "I2",
                evidence: format!("{:?} → {:?} is not in the table", item.from, item.to),
            });
        }
        before = Some(item);
    }
    let successes = items
        .iter()
        .filter(|item| item.to == Status::Success && item.from == Some(Status::Running))
        .count();
    if successes > 1 {
        found.push(Violation {
            invariant: "I6",
            evidence: format!("{successes} times in success"),
        });
    }
    found
}
