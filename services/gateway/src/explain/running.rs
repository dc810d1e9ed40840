//! Where a task runs, and whether that takes longer than usual.

use domain::{Millis, Stop};
use serde_json::{Value, json};

use super::{
    Cause,
    facts::Facts,
    waits_for,
    words::{instant, span},
};

/// It runs: where, since when, and what is odd about it.
pub(super) fn running(facts: &Facts) -> Cause {
    let task = &facts.view.task;
    let ran = facts.now - task.claimed_at;
    let place = format!(
        "it runs on {} since {} (attempt {})",
        task.executor_id,
        span(ran),
        task.attempt
    );
    let beat = heartbeat_ms(facts);
    let beaten = beaten(facts, beat);
    let mut evidence = evidence(facts, ran, beat);
    let (waits, known) = waits_for::of(facts.probe.as_ref());
    evidence["run"] = known;
    if let Some(late) = facts
        .lease
        .map(|lease| lease.now - lease.ends_at)
        .filter(|late| *late > 0)
    {
        let text = format!(
            "{place}, but its lease ended {} ago: the executor is silent",
            span(late)
        );
        return Cause::new("lease_expired", text, evidence)
            .with_remedy("it is taken back within 2 s where a scheduler works; is one running and ready?");
    }
    if let Some(stop) = task.stop {
        let asked = match stop {
            Stop::Cancel => "cancelled",
            Stop::Reset => "reset",
        };
        let text = format!("{place}{beaten}; it was {asked}, and its run is being ended{waits}");
        return Cause::new("stopping", text, evidence);
    }
    let ends = format!("its time ends at {}", instant(task.deadline));
    match stuck_after(facts).filter(|after| ran > *after) {
        Some(_) => {
            let usual = span(usual_ms(facts).unwrap_or(0));
            let text = format!(
                "{place}{beaten}, far longer than usual: 99 of 100 runs of its type end within {usual}{waits}; {ends}"
            );
            Cause::new("stuck", text, evidence).with_remedy(format!(
                "look at what it waits for; gengfu task reset {} ends this run and starts it anew",
                task.id
            ))
        }
        None => Cause::new("running", format!("{place}{beaten}{waits}; {ends}"), evidence),
    }
}

fn beaten(facts: &Facts, beat: Option<Millis>) -> String {
    match (beat, facts.lease.map(|lease| lease.ends_at - lease.now)) {
        (Some(ms), _) => format!(", last heartbeat {} ago", span(ms)),
        (None, Some(left)) if left >= 0 => format!(", its lease has {} left", span(left)),
        (None, _) => String::new(),
    }
}

/// How long ago the lease was renewed, as its length says; none where the length is not known.
fn heartbeat_ms(facts: &Facts) -> Option<Millis> {
    let lease = facts.lease.filter(|lease| lease.length_ms > 0)?;
    let ago = lease.now - (lease.ends_at - lease.length_ms);
    (0..=lease.length_ms).contains(&ago).then_some(ago)
}

fn usual_ms(facts: &Facts) -> Option<Millis> {
    facts.usual.as_ref()?.p99_ms()
}

fn stuck_after(facts: &Facts) -> Option<Millis> {
    facts.usual.as_ref()?.stuck_after_ms()
}

fn evidence(facts: &Facts, ran: Millis, beat: Option<Millis>) -> Value {
    let task = &facts.view.task;
    json!({
        "executor_id": task.executor_id, "attempt": task.attempt, "claimed_at": instant(task.claimed_at),
        "ran_ms": ran, "deadline": instant(task.deadline), "heartbeat_ms_ago": beat,
        "lease_left_ms": facts.lease.map(|lease| lease.ends_at - lease.now),
        "usual_p99_ms": usual_ms(facts), "stuck_after_ms": stuck_after(facts),
        "runs_known": facts.usual.as_ref().map_or(0, domain::RunTimes::runs),
        "stop": task.stop,
    })
}
