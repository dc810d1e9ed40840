//! The life cycle as one table. The scripts of the store and `docs/state-machine.md` are generated from it.

use std::fmt::Write as _;

use crate::Status;
use crate::Status::{Cancelled, Dead, Failed, Pending, Retrying, Running, Success, Timeout};

/// What is done to a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verb {
    /// Accept a submission.
    Admit,
    /// Give the task to one executor, under a lease.
    Claim,
    /// End a run well.
    Complete,
    /// End a run with an error.
    Fail,
    /// End a run that overran its time.
    Overrun,
    /// Take the task from an executor whose lease expired.
    Reclaim,
    /// Give a claimed task back unrun, or unfinished at a drain.
    HandBack,
    /// Confirm that a run was ended because somebody asked.
    Stopped,
    /// An operator or a policy stops the task.
    Cancel,
    /// An operator runs a dead or cancelled task again.
    Retry,
    /// An operator makes the task due now, ending its run first.
    Reset,
    /// An operator changes fields.
    Set,
}

impl Verb {
    /// Every verb.
    pub const ALL: [Self; 12] = [
        Self::Admit,
        Self::Claim,
        Self::Complete,
        Self::Fail,
        Self::Overrun,
        Self::Reclaim,
        Self::HandBack,
        Self::Stopped,
        Self::Cancel,
        Self::Retry,
        Self::Reset,
        Self::Set,
    ];

    /// The word used in scripts, docs and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Admit => "admit",
            Self::Claim => "claim",
            Self::Complete => "complete",
            Self::Fail => "fail",
            Self::Overrun => "overrun",
            Self::Reclaim => "reclaim",
            Self::HandBack => "hand_back",
            Self::Stopped => "stopped",
            Self::Cancel => "cancel",
            Self::Retry => "retry",
            Self::Reset => "reset",
            Self::Set => "set",
        }
    }
}

/// One legal transition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// What is done.
    pub verb: Verb,
    /// Where the task stood; none for a task that comes into being.
    pub from: Option<Status>,
    /// Where it stands after.
    pub to: Status,
    /// When this row applies, for the docs.
    pub when: &'static str,
}

const fn row(verb: Verb, from: Status, to: Status, when: &'static str) -> Row {
    Row {
        verb,
        from: Some(from),
        to,
        when,
    }
}

const fn born(to: Status, when: &'static str) -> Row {
    Row {
        verb: Verb::Admit,
        from: None,
        to,
        when,
    }
}

/// Every legal transition (I2).
pub const TRANSITIONS: &[Row] = &[
    born(Pending, "the submission is valid"),
    born(
        Dead,
        "the input is invalid and nobody waits for the answer (batch row, message)",
    ),
    row(Verb::Claim, Pending, Running, "due"),
    row(Verb::Claim, Retrying, Running, "due"),
    row(Verb::Claim, Pending, Dead, "not started before its `expire_at`"),
    row(Verb::Claim, Retrying, Dead, "not started before its `expire_at`"),
    row(Verb::Complete, Running, Success, "the token is the lease's"),
    row(Verb::Fail, Running, Failed, "the token is the lease's"),
    row(Verb::Fail, Failed, Retrying, "a transient error, retries left"),
    row(
        Verb::Fail,
        Failed,
        Dead,
        "a deterministic error, or no retries left",
    ),
    row(Verb::Fail, Running, Cancelled, "a cancel was asked"),
    row(Verb::Fail, Running, Pending, "a reset was asked"),
    row(
        Verb::Overrun,
        Running,
        Timeout,
        "the run was ended after `run_timeout`",
    ),
    row(Verb::Overrun, Timeout, Retrying, "retries left"),
    row(Verb::Overrun, Timeout, Dead, "no retries left"),
    row(Verb::Overrun, Running, Cancelled, "a cancel was asked"),
    row(Verb::Overrun, Running, Pending, "a reset was asked"),
    row(Verb::Reclaim, Running, Timeout, "the lease expired"),
    row(
        Verb::Reclaim,
        Timeout,
        Pending,
        "fewer losses than `max_lost` within 24 h",
    ),
    row(
        Verb::Reclaim,
        Timeout,
        Dead,
        "poison: `max_lost` executors vanished under it",
    ),
    row(Verb::Reclaim, Timeout, Cancelled, "a cancel was asked"),
    row(Verb::HandBack, Running, Pending, "the executor drains"),
    row(Verb::HandBack, Running, Cancelled, "a cancel was asked"),
    row(
        Verb::Stopped,
        Running,
        Cancelled,
        "a cancel was asked and the run was ended",
    ),
    row(
        Verb::Stopped,
        Running,
        Pending,
        "a reset was asked and the run was ended",
    ),
    row(Verb::Cancel, Pending, Cancelled, "at once"),
    row(Verb::Cancel, Retrying, Cancelled, "at once"),
    row(
        Verb::Cancel,
        Running,
        Running,
        "marked; the executor ends the run, then `stopped`",
    ),
    row(Verb::Retry, Dead, Pending, "by an operator; counts at 0"),
    row(Verb::Retry, Cancelled, Pending, "by an operator; counts at 0"),
    row(Verb::Reset, Pending, Pending, "by an operator; due now"),
    row(Verb::Reset, Retrying, Pending, "by an operator; due now"),
    row(
        Verb::Reset,
        Running,
        Running,
        "marked; the executor ends the run, then `stopped`",
    ),
    row(Verb::Set, Pending, Pending, "fields only"),
    row(Verb::Set, Running, Running, "fields only"),
    row(Verb::Set, Success, Success, "fields only"),
    row(Verb::Set, Retrying, Retrying, "fields only"),
    row(Verb::Set, Dead, Dead, "fields only"),
    row(Verb::Set, Cancelled, Cancelled, "fields only"),
];

/// Whether the table has this transition.
#[must_use]
pub fn legal(verb: Verb, from: Option<Status>, to: Status) -> bool {
    TRANSITIONS
        .iter()
        .any(|row| row.verb == verb && row.from == from && row.to == to)
}

/// The page `docs/state-machine.md`, as it must read.
#[must_use]
pub fn state_machine_markdown() -> String {
    let mut page = String::from(
        "# The life cycle of a task\n\nGenerated from `crates/domain/src/transition.rs`; a test compares it. \
         To write it anew: `UPDATE_DOCS=1 cargo nextest run -p gengfu-domain state_machine`.\n\n```mermaid\nstateDiagram-v2\n",
    );
    for row in TRANSITIONS.iter().filter(|row| row.from != Some(row.to)) {
        let from = row.from.map_or("[*]", Status::as_str);
        let _ = writeln!(page, "    {from} --> {}: {}", row.to.as_str(), row.verb.as_str());
    }
    for status in Status::TERMINAL {
        let _ = writeln!(page, "    {} --> [*]", status.as_str());
    }
    page.push_str("```\n\n| verb | from | to | when |\n|---|---|---|---|\n");
    for row in TRANSITIONS {
        let from = row.from.map_or("–", Status::as_str);
        let _ = writeln!(
            page,
            "| {} | {from} | {} | {} |",
            row.verb.as_str(),
            row.to.as_str(),
            row.when
        );
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_is_left_only_by_an_operator() {
        for row in TRANSITIONS
            .iter()
            .filter(|row| row.from.is_some_and(Status::is_terminal))
        {
            assert!(matches!(row.verb, Verb::Retry | Verb::Set), "{row:?}");
        }
    }

    #[test]
    fn only_claimable_statuses_are_claimed() {
        for row in TRANSITIONS.iter().filter(|row| row.verb == Verb::Claim) {
            assert!(row.from.is_some_and(Status::is_claimable), "{row:?}");
        }
    }

    #[test]
    fn no_transition_stands_twice() {
        for (at, row) in TRANSITIONS.iter().enumerate() {
            let same = TRANSITIONS[at + 1..]
                .iter()
                .find(|other| (other.verb, other.from, other.to) == (row.verb, row.from, row.to));
            assert_eq!(same, None);
        }
    }

    #[test]
    fn state_machine_page_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/state-machine.md");
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(path, state_machine_markdown()).unwrap();
        }
        assert_eq!(std::fs::read_to_string(path).unwrap(), state_machine_markdown());
    }
}
