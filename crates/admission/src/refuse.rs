//! Bad input that nobody waits to hear about becomes a dead task, so that it can be seen and mended (DESIGN section 4).

use domain::{Tier, valid_pool, valid_type};
use store::NewTask;

use crate::{Limits, Problem, Submission, TypeTable, check::bare};

/// Longest key kept of a refused submission, in bytes.
const KEY_BYTES: usize = 512;

/// A task that is dead from the start, with the problems as its error. A payload over the limit is left out.
///
/// None where not even the name can be a type's: such a submission can only be refused.
#[must_use]
pub fn refuse(
    submission: Submission<'_>,
    problems: &[Problem],
    types: &TypeTable,
    limits: &Limits,
) -> Option<NewTask> {
    if !valid_type(submission.task_type) || submission.idempotency_key.len() > KEY_BYTES {
        return None;
    }
    let spec = types
        .get(submission.task_type)
        .and_then(|known| known.as_ref().ok())
        .map(|known| known.spec());
    let asked_pool = Some(submission.pool).filter(|pool| valid_pool(pool));
    let pool = asked_pool
        .or(spec.map(|spec| spec.pool.as_str()))
        .unwrap_or("default")
        .to_owned();
    let own_tier = spec.map_or(Tier::Normal, |spec| spec.tier);
    let tier = submission.tier.parse().unwrap_or(own_tier);
    let mut submission = submission;
    if submission.payload.len() > limits.payload_bytes {
        submission.payload.clear();
    }
    (submission.at, submission.delay_ms) = (0, 0);
    submission.rejected = Some(error_text(problems));
    let run_timeout_ms = spec.map_or(300_000, domain::TypeSpec::run_timeout_ms);
    let (max_retry, max_lost) = spec.map_or((0, 3), |spec| (spec.max_retry_for(tier), spec.max_lost));
    Some(NewTask {
        pool,
        tier,
        max_retry,
        max_lost,
        run_timeout_ms,
        ..bare(submission, limits)
    })
}

/// The first problem's field and reason, and all of them, as JSON.
fn error_text(problems: &[Problem]) -> String {
    let first = problems.first();
    let text = serde_json::json!({
        "column": first.map(|problem| problem.field.as_str()),
        "reason": first.map(|problem| problem.reason.as_str()),
        "problems": problems,
    });
    text.to_string()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::check;

    #[test]
    fn what_admission_refuses_is_kept_as_a_dead_task() {
        let (types, limits) = (
            TypeTable::default(),
            Limits {
                payload_bytes: 3,
                ..Limits::default()
            },
        );
        let bad = Submission {
            task_type: "nope",
            payload: Bytes::from_static(b"1234"),
            tier: "urgent",
            idempotency_key: "k",
            delay_ms: 9,
            ..Submission::default()
        };
        let problems = check(bad.clone(), &types, &limits).unwrap_err();
        let task = refuse(bad, &problems, &types, &limits).unwrap();
        let error = task.rejected.unwrap();
        assert!(
            error.contains("task_type") && error.contains("urgent") && error.contains("limit"),
            "{error}"
        );
        assert_eq!(
            (task.payload.len(), task.delay_ms, task.tier),
            (0, 0, Tier::Normal)
        );
        assert_eq!(task.pool, "default");
    }

    #[test]
    fn without_a_name_there_is_no_task() {
        let bad = Submission {
            task_type: "No Name",
            ..Submission::default()
        };
        assert_eq!(refuse(bad, &[], &TypeTable::default(), &Limits::default()), None);
    }
}
