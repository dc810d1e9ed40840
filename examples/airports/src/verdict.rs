//! The comparison of the endpoint's ledger with the timelines: what was lost, what was done twice.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::fate::Fate;
use crate::history::History;
use crate::ledger::Call;

/// What does not fit, each with the reason; empty is as it should be.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// Rows without a finished task, and `success` that the endpoint never gave.
    pub(crate) lost: Vec<String>,
    /// Rows done more than once, and calls that no attempt explains.
    pub(crate) duplicated: Vec<String>,
}

/// Compares. `unexplained` are calls of which the ledger knows only that they came.
pub(crate) fn compare(rows: &[String], histories: &[History], calls: &[Call], unexplained: usize) -> Verdict {
    let mut verdict = Verdict {
        lost: lost_rows(rows, histories),
        duplicated: Vec::new(),
    };
    verdict.lost.extend(unearned_successes(histories, calls));
    verdict.duplicated.extend(rows_done_twice(calls));
    verdict.duplicated.extend(unexplained_calls(histories, calls));
    verdict
        .duplicated
        .extend((0..unexplained).map(|_| "a call that names no task".to_owned()));
    verdict
}

fn is_terminal(status: &str) -> bool {
    matches!(status, "success" | "dead" | "cancelled")
}

/// The row of a task: the value of `iata`, which is the first column and so stands in the summary.
fn row_of(history: &History) -> Option<&str> {
    let after = history.task.input_info.split_once(r#""iata""#)?.1;
    after.split('"').nth(1)
}

fn lost_rows(rows: &[String], histories: &[History]) -> Vec<String> {
    let finished: BTreeSet<&str> = histories
        .iter()
        .filter(|history| is_terminal(&history.task.status))
        .filter_map(row_of)
        .collect();
    let lost = rows.iter().filter(|row| !finished.contains(row.as_str()));
    lost.map(|row| format!("{row}: no finished task")).collect()
}

fn unearned_successes(histories: &[History], calls: &[Call]) -> Vec<String> {
    let accepted: BTreeSet<&str> = calls
        .iter()
        .filter(|call| call.fate == Fate::Accept)
        .map(|call| call.task_id.as_str())
        .collect();
    let successes = histories
        .iter()
        .filter(|history| history.task.status == "success");
    successes
        .filter(|history| !accepted.contains(history.task.task_id.as_str()))
        .map(|history| {
            format!(
                "{}: success without a call that was answered so",
                history.task.task_id
            )
        })
        .collect()
}

fn rows_done_twice(calls: &[Call]) -> Vec<String> {
    let mut times = BTreeMap::<&str, usize>::new();
    for call in calls.iter().filter(|call| call.fate == Fate::Accept) {
        *times.entry(&call.row).or_default() += 1;
    }
    let twice = times.into_iter().filter(|(_, times)| *times > 1);
    twice
        .map(|(row, times)| format!("{row}: answered 2xx {times} times"))
        .collect()
}

/// An attempt in a timeline explains one call with its task and number, and no second one.
fn unexplained_calls(histories: &[History], calls: &[Call]) -> Vec<String> {
    let mut attempts = HashMap::<(&str, u32), usize>::new();
    for history in histories {
        for step in history.steps.iter().filter(|step| step.to == "running") {
            *attempts.entry((&history.task.task_id, step.attempt)).or_default() += 1;
        }
    }
    let mut unexplained = Vec::new();
    for call in calls {
        match attempts.get_mut(&(call.task_id.as_str(), call.attempt)) {
            Some(left) if *left > 0 => *left -= 1,
            _ => unexplained.push(format!(
                "{}: a call of task {} as attempt {}, which its timeline does not have",
                call.row, call.task_id, call.attempt
            )),
        }
    }
    unexplained
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{Step, Task};

    fn start(attempt: u32) -> Step {
        Step {
            to: "running".to_owned(),
            at: jiff::Timestamp::UNIX_EPOCH,
            attempt,
        }
    }

    fn history(id: &str, row: &str, status: &str, attempts: &[u32]) -> History {
        let task = Task {
            task_id: id.to_owned(),
            status: status.to_owned(),
            retry_count: 0,
            input_info: format!(r#"{{"iata":"{row}","name":"N"}}"#),
        };
        History {
            task,
            steps: attempts.iter().map(|attempt| start(*attempt)).collect(),
        }
    }

    fn call(id: &str, row: &str, attempt: u32, fate: Fate) -> Call {
        Call {
            task_id: id.to_owned(),
            attempt,
            row: row.to_owned(),
            fate,
        }
    }

    fn counts(histories: &[History], calls: &[Call]) -> (usize, usize) {
        let verdict = compare(&["A".to_owned(), "B".to_owned()], histories, calls, 0);
        (verdict.lost.len(), verdict.duplicated.len())
    }

    fn good() -> (Vec<History>, Vec<Call>) {
        (
            vec![
                history("1", "A", "success", &[1, 2]),
                history("2", "B", "dead", &[1]),
            ],
            vec![
                call("1", "A", 1, Fate::Unavailable),
                call("2", "B", 1, Fate::Refuse),
                call("1", "A", 2, Fate::Accept),
            ],
        )
    }

    #[test]
    fn a_clean_run_has_neither() {
        let (histories, calls) = good();
        assert_eq!(counts(&histories, &calls), (0, 0));
    }

    #[test]
    fn an_attempt_may_end_before_its_call() {
        let (mut histories, calls) = good();
        histories[0].steps.push(start(3));
        assert_eq!(counts(&histories, &calls), (0, 0));
    }

    #[test]
    fn a_row_without_a_finished_task_is_lost() {
        let (mut histories, calls) = good();
        histories[1].task.status = "retrying".to_owned();
        assert_eq!(counts(&histories, &calls), (1, 0));
        histories.pop();
        assert_eq!(
            counts(&histories, &calls[..1]),
            (2, 0),
            "B is missing, and A succeeded without a 2xx"
        );
    }

    #[test]
    fn a_success_without_a_call_is_lost() {
        let (histories, calls) = good();
        assert_eq!(counts(&histories, &calls[..2]), (1, 0));
    }

    #[test]
    fn a_row_accepted_twice_is_duplicated() {
        let (mut histories, mut calls) = good();
        histories[0].steps.push(start(3));
        calls.push(call("1", "A", 3, Fate::Accept));
        assert_eq!(counts(&histories, &calls), (0, 1));
    }

    #[test]
    fn a_row_that_became_two_tasks_is_duplicated() {
        let (mut histories, mut calls) = good();
        histories.push(history("3", "A", "success", &[1]));
        calls.push(call("3", "A", 1, Fate::Accept));
        assert_eq!(counts(&histories, &calls), (0, 1));
    }

    #[test]
    fn a_call_that_no_attempt_explains_is_duplicated() {
        let (histories, good_calls) = good();
        let strays = [
            call("1", "A", 3, Fate::Unavailable), // an attempt the timeline does not have
            call("1", "A", 1, Fate::Unavailable), // one attempt, two calls
            call("9", "A", 1, Fate::Unavailable), // a task that nobody submitted
        ];
        for stray in strays {
            let mut calls = good_calls.clone();
            calls.push(stray.clone());
            assert_eq!(counts(&histories, &calls), (0, 1), "{stray:?}");
        }
        assert_eq!(compare(&[], &histories, &good_calls, 2).duplicated.len(), 2);
    }
}
