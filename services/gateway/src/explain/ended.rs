//! How a task ended, and what can be done about it.

use domain::{ErrorClass, Status, TimelineItem};
use serde_json::{Value, json};

use super::{
    Cause,
    facts::Facts,
    waiting::{code, said},
    words::{error, instant, span},
};

/// It is done.
pub(super) fn success(facts: &Facts) -> Cause {
    let task = &facts.view.task;
    let ran = task.finished_at - task.claimed_at;
    let text = format!(
        "it is done since {}, in attempt {}, after {} on {}",
        instant(task.finished_at),
        task.attempt,
        span(ran),
        task.executor_id
    );
    let evidence = json!({
        "finished_at": instant(task.finished_at), "attempt": task.attempt, "run_ms": ran,
        "executor_id": task.executor_id,
    });
    Cause::new("success", text, evidence)
}

/// It is in the dead-letter set.
pub(super) fn dead(facts: &Facts) -> Cause {
    let task = &facts.view.task;
    let error = said(&facts.view.error);
    let again = format!("gengfu task retry {}", task.id);
    let (word, text, remedy) = match (task.error_code.as_str(), task.error_class) {
        ("invalid_input", _) if task.attempt == 0 => (
            "invalid_input",
            format!("it is dead because its input is invalid{error}; it never ran"),
            "correct the input and submit it anew".to_owned(),
        ),
        ("expired", _) => (
            "expired",
            format!(
                "it is dead because it could not start before {}",
                instant(task.expire_at)
            ),
            format!("find out what it waited for (executors, pauses, backlog), then {again}"),
        ),
        ("poison", _) => (
            "poison",
            format!(
                "it is dead because {} executors vanished while they ran it",
                task.losses
            ),
            format!("it may bring its executor down (memory?): look at their logs, then {again}"),
        ),
        ("outcome_unknown", _) => (
            "outcome_unknown",
            format!("it is dead because its request went out and no answer came{error}"),
            format!("look at the other side whether it acted; only if not: {again}"),
        ),
        (_, class) => failed(facts, class, &error, &again),
    };
    Cause::new(word, text, dead_evidence(facts)).with_remedy(remedy)
}

/// It ran, and its last attempt failed.
fn failed(
    facts: &Facts,
    class: Option<ErrorClass>,
    error: &str,
    again: &str,
) -> (&'static str, String, String) {
    let task = &facts.view.task;
    match class {
        Some(ErrorClass::Deterministic) => (
            "deterministic",
            format!(
                "it is dead because attempt {} failed with {}{error}, which a repeat does not mend",
                task.attempt,
                code(facts)
            ),
            format!("mend the cause, then {again}"),
        ),
        Some(ErrorClass::Transient | ErrorClass::Timeout | ErrorClass::Lost) | None => (
            "retries_used_up",
            format!(
                "it is dead because {} of {} retries are spent; the last attempt ended with {}{error}",
                task.retry_count,
                task.max_retry,
                code(facts)
            ),
            format!(
                "see whether the cause is gone (gengfu task logs {}), then {again}",
                task.id
            ),
        ),
    }
}

fn dead_evidence(facts: &Facts) -> Value {
    let task = &facts.view.task;
    json!({
        "finished_at": instant(task.finished_at), "attempt": task.attempt, "retry_count": task.retry_count,
        "max_retry": task.max_retry, "losses": task.losses, "error_class": task.error_class,
        "error_code": task.error_code, "error": error(&facts.view.error), "executor_id": task.executor_id,
    })
}

/// Somebody stopped it.
pub(super) fn cancelled(facts: &Facts) -> Cause {
    let task = &facts.view.task;
    let last = facts
        .timeline
        .iter()
        .rev()
        .find(|item| item.to == Status::Cancelled);
    let asked = facts.timeline.iter().rev().find(|item| asks(item)).or(last);
    let (by, reason) = asked.map_or(("nobody known", ""), |item| {
        (item.actor.as_str(), item.reason.as_str())
    });
    let why = match reason {
        "" => String::new(),
        reason => format!(", because: {reason}"),
    };
    let text = format!("it was cancelled by {by} at {}{why}", instant(task.finished_at));
    let evidence = json!({
        "cancelled_by": by, "reason": reason, "asked_at": asked.map(|item| instant(item.at)),
        "finished_at": instant(task.finished_at), "attempt": task.attempt,
    });
    let remedy = format!("gengfu task retry {} runs it after all", task.id);
    Cause::new("cancelled", text, evidence).with_remedy(remedy)
}

/// A wish to stop a run; what ended it then is only the executor's.
fn asks(item: &TimelineItem) -> bool {
    item.from == Some(Status::Running) && item.to == Status::Running
        || item.to == Status::Cancelled
            && item.from != Some(Status::Running)
            && item.from != Some(Status::Timeout)
}
