//! What a task waits for that does not run.

use serde_json::{Value, json};

use super::{
    Cause,
    facts::Facts,
    words::{count, error, instant, span},
};

/// Its time has not come.
pub(super) fn delayed(facts: &Facts) -> Cause {
    let due = facts.view.task.next_run_time;
    let mut text = format!(
        "it waits for its time: due at {}, in {}",
        instant(due),
        span(due - facts.now)
    );
    if facts.is_paused() {
        text.push_str("; its type is paused too");
    }
    let evidence =
        json!({"due": instant(due), "due_in_ms": due - facts.now, "type_paused": facts.is_paused()});
    Cause::new("delayed", text, evidence)
}

/// An attempt failed, and the next waits for the end of its backoff.
pub(super) fn retry(facts: &Facts) -> Cause {
    let task = &facts.view.task;
    let wait = task.next_run_time - facts.now;
    let mut text = format!(
        "it is tried again in {}: attempt {} ended with {}{}; retry {} of {}",
        span(wait),
        task.attempt,
        code(facts),
        said(&facts.view.error),
        task.retry_count,
        task.max_retry,
    );
    if facts.is_paused() {
        text.push_str("; its type is paused too");
    }
    let evidence = json!({
        "next_run_time": instant(task.next_run_time), "retry_in_ms": wait, "attempt": task.attempt,
        "retry_count": task.retry_count, "max_retry": task.max_retry, "error_class": task.error_class,
        "error_code": task.error_code, "error": error(&facts.view.error), "type_paused": facts.is_paused(),
    });
    let remedy = format!("gengfu task reset {} makes it due now", task.id);
    Cause::new("retry", text, evidence).with_remedy(remedy)
}

pub(super) fn code(facts: &Facts) -> String {
    let task = &facts.view.task;
    match (task.error_code.as_str(), task.error_class) {
        ("", Some(class)) => class.as_str().to_owned(),
        ("", None) => "no error that was kept".to_owned(),
        (code, _) => code.to_owned(),
    }
}

/// The error behind a colon, where there is one.
pub(super) fn said(text: &str) -> String {
    match error(text).as_str() {
        "" => String::new(),
        error => format!(" ({error})"),
    }
}

/// Its type is not declared, so that no executor knows its handler.
pub(super) fn unknown_type(facts: &Facts) -> Cause {
    let name = &facts.view.task.task_type;
    let text = format!("its type {name} is not declared any more");
    Cause::new("type_unknown", text, json!({"type": name})).with_remedy("declare it: gengfu apply -f FILE")
}

/// Its type is paused, or everything is.
pub(super) fn paused(facts: &Facts) -> Cause {
    let name = &facts.view.task.task_type;
    let Some(pause) = &facts.pause else {
        let text = format!("its type {name} is paused; by whom was not kept");
        return Cause::new("type_paused", text, json!({"type": name}))
            .with_remedy(format!("gengfu type resume {name}"));
    };
    let why = match pause.reason.as_str() {
        "" => "without a reason".to_owned(),
        reason => format!("because: {reason}"),
    };
    let ago = facts.now - pause.since;
    let told = format!(
        "by {} since {} ({} ago), {why}",
        pause.by,
        instant(pause.since),
        span(ago)
    );
    let evidence = json!({
        "type": name, "paused_by": pause.by, "reason": pause.reason, "since": instant(pause.since), "paused_ms": ago,
    });
    if pause.all {
        return Cause::new("all_paused", format!("everything is paused, {told}"), evidence).with_remedy(
            format!("gengfu type resume {name}, or POST /api/v1/resume for everything"),
        );
    }
    Cause::new(
        "type_paused",
        format!("its type {name} is paused {told}"),
        evidence,
    )
    .with_remedy(format!("gengfu type resume {name}"))
}

fn pool_evidence(facts: &Facts) -> Value {
    json!({"pool": facts.pool, "tier": facts.view.task.tier, "waited_ms": facts.now - facts.view.task.next_run_time})
}

/// Nobody works in its pool.
pub(super) fn no_executor(facts: &Facts) -> Cause {
    let (pool, waits) = (&facts.pool.name, span(facts.now - facts.view.task.next_run_time));
    if let Some(reason) = &facts.deaf {
        let text = format!("it is due since {waits}, and nothing is heard of executors: {reason}");
        let mut evidence = pool_evidence(facts);
        evidence["nats"] = json!(reason);
        return Cause::new("nats_away", text, evidence)
            .with_remedy("bring NATS back; work then goes on by itself");
    }
    let text =
        format!("no executor of pool {pool} is alive: none reported within 3 s; it is due since {waits}");
    Cause::new("no_executor", text, pool_evidence(facts))
        .with_remedy(format!("start one: gengfu executor --set executor.pool={pool}"))
}

/// All slots of its pool are taken.
pub(super) fn no_slot(facts: &Facts) -> Cause {
    let pool = &facts.pool;
    let text = format!(
        "all {} of pool {} are busy, in {}; {} of its tier are ready, the oldest since {}",
        count(pool.slots, "slot"),
        pool.name,
        count(pool.executors as u64, "executor"),
        count(pool.ready, "task"),
        span(pool.oldest_ready_ms)
    );
    Cause::new("no_slot", text, pool_evidence(facts))
        .with_remedy("wait, start further executors, or raise executor.concurrency")
}

/// A hint is on its way.
pub(super) fn dispatched(facts: &Facts) -> Cause {
    let text = format!(
        "a hint to an executor of pool {} is on its way; if nobody claims it within 10 s it is ready again",
        facts.pool.name
    );
    Cause::new("dispatched", text, pool_evidence(facts))
}

/// It waits for its turn.
pub(super) fn ready(facts: &Facts) -> Cause {
    let pool = &facts.pool;
    let text = format!(
        "it is ready since {} and waits for its turn: {} of its pool and tier are ready, {} free",
        span(facts.now - facts.view.task.next_run_time),
        count(pool.ready, "task"),
        count(pool.free, "slot"),
    );
    Cause::new("ready", text, pool_evidence(facts))
}

/// An earlier fire of its schedule has not ended.
pub(super) fn blocked(facts: &Facts) -> Cause {
    let Some(before) = &facts.before else {
        let text = "it waited for an earlier task of its schedule, which has just ended";
        return Cause::new("blocked", text, json!({"schedule": facts.view.task.schedule_id}));
    };
    let stands = before.status.unwrap_or("gone");
    let text = match before.stopping {
        true => format!(
            "it waits until the earlier task {} of schedule {} has ended, which was told to stop ({})",
            before.task_id, before.schedule, before.overlap
        ),
        false => format!(
            "it is blocked by the earlier fire of its schedule {}: task {} is {stands} (overlap: {})",
            before.schedule, before.task_id, before.overlap
        ),
    };
    let remedy = format!(
        "see gengfu task explain {}; to end it: gengfu task cancel {}",
        before.task_id, before.task_id
    );
    Cause::new("blocked", text, json!({"before": before})).with_remedy(remedy)
}
