//! The cause that decides.

use domain::{Status, SubState};

use super::{Cause, ended, facts::Facts, running, waiting};

/// Of all that may hold a task, the one thing that has to change first.
pub(super) fn of(facts: &Facts) -> Cause {
    let task = &facts.view.task;
    match task.status {
        Status::Pending | Status::Retrying => waits(facts),
        Status::Running => running::running(facts),
        Status::Success => ended::success(facts),
        Status::Dead => ended::dead(facts),
        Status::Cancelled => ended::cancelled(facts),
        Status::Failed | Status::Timeout => Cause::new(
            "passing",
            format!(
                "it stands in {}, which a task only passes through; look again",
                task.status.as_str()
            ),
            serde_json::json!({}),
        )
        .with_remedy("where it stays so, run gengfu audit: I2 is broken"),
    }
}

fn waits(facts: &Facts) -> Cause {
    let task = &facts.view.task;
    match facts.view.sub_state {
        Some(SubState::Blocked) => waiting::blocked(facts),
        _ if task.next_run_time > facts.now && task.status == Status::Retrying => waiting::retry(facts),
        _ if task.next_run_time > facts.now => waiting::delayed(facts),
        _ if facts.spec.is_none() => waiting::unknown_type(facts),
        _ if facts.is_paused() => waiting::paused(facts),
        _ if facts.pool.executors == 0 => waiting::no_executor(facts),
        _ if facts.pool.free == 0 => waiting::no_slot(facts),
        Some(SubState::Dispatched) => waiting::dispatched(facts),
        Some(SubState::Ready | SubState::Delayed) | None => waiting::ready(facts),
    }
}
