//! What one task proves alone, read in one step: its record, its timeline, its key, its payload, its place.

use std::collections::HashSet;

use domain::{Millis, Status, TimelineItem, Token, check_task, check_timeline};
use sha2::{Digest, Sha256};
use store::{AuditedTask, Place, TIMELINE_MAX};

use crate::report::Report;

/// How late something may be before it is an exception: the scheduler's duties take seconds.
pub(crate) const LATE_MS: Millis = 60_000;
/// Tokens of running tasks that are compared.
const TOKENS_MAX: usize = 1_000_000;

/// Looks at a task.
pub(crate) fn look(one: &AuditedTask, now: Millis, tokens: &mut HashSet<Token>, report: &mut Report) {
    let id = one.task.id;
    report.count("tasks", 1);
    report.count("transitions", one.timeline.len() as u64);
    for found in check_task(&one.task)
        .into_iter()
        .chain(check_timeline(&one.timeline))
    {
        report.exception(found.invariant, id, found.evidence);
    }
    for text in timeline(one) {
        report.exception("I2", id, text);
    }
    if let Some(text) = attempts(&one.timeline) {
        report.exception("I3", id, text);
    }
    if let Some(text) = key(one) {
        report.exception("I1", id, text);
    }
    let digest: [u8; 32] = Sha256::digest(&one.payload).into();
    if digest != one.task.payload_sha256 {
        report.exception(
            "I10",
            id,
            "the payload is not the one whose digest was taken at submit",
        );
    }
    if let Some((invariant, text)) = place(one, now) {
        report.exception(invariant, id, text);
    }
    if let Some(token) = one.task.lease_token.filter(|_| tokens.len() < TOKENS_MAX)
        && !tokens.insert(token)
    {
        report.exception("I3", id, "its fencing token is that of another running task too");
    }
}

/// The timeline ends where the record stands, and begins where it must.
fn timeline(one: &AuditedTask) -> Vec<String> {
    let (task, mut found) = (&one.task, Vec::new());
    let due = (task.version as usize).min(TIMELINE_MAX);
    if one.timeline.len() != due {
        found.push(format!(
            "its timeline has {} items, where {due} are due",
            one.timeline.len()
        ));
    }
    if let Some(last) = one.timeline.last()
        && (last.version, last.to) != (task.version, task.status)
    {
        let (version, status) = (task.version, task.status.as_str());
        found.push(format!(
            "its timeline ends with version {} in {}, its record stands at version {version} in {status}",
            last.version,
            last.to.as_str()
        ));
    }
    found
}

/// Every claim counts one attempt up; only who hands back counts one down. So no attempt has two claims, and no run
/// ended that was not claimed.
fn attempts(items: &[TimelineItem]) -> Option<String> {
    for pair in items.windows(2) {
        let (before, item) = (&pair[0], &pair[1]);
        let claimed = item.to == Status::Running && item.from != Some(Status::Running);
        let given_back = item.from == Some(Status::Running)
            && matches!(item.to, Status::Pending | Status::Cancelled)
            && item.attempt + 1 == before.attempt;
        let right = match claimed {
            true => item.attempt == before.attempt + 1,
            false => item.attempt == before.attempt || given_back,
        };
        if !right {
            return Some(format!(
                "version {} is of attempt {}, after version {} of attempt {}",
                item.version, item.attempt, before.version, before.attempt
            ));
        }
    }
    None
}

fn key(one: &AuditedTask) -> Option<String> {
    let key = &one.task.idempotency_key;
    if key.is_empty() || one.key_holder == Some(one.task.id) {
        return None;
    }
    Some(match one.key_holder {
        Some(other) => format!("its idempotency key {key:?} names another task, {other}"),
        None => format!("its idempotency key {key:?} names no task"),
    })
}

/// Where a task of its status has to stand, and for how long at most.
fn place(one: &AuditedTask, now: Millis) -> Option<(&'static str, String)> {
    let task = &one.task;
    let allowed: &[Place] = match task.status {
        Status::Pending | Status::Retrying => &[Place::Due, Place::Dispatched, Place::Queue, Place::Blocked],
        Status::Running => &[Place::Lease],
        Status::Dead => &[Place::Dead],
        Status::Success | Status::Cancelled => &[],
        // Said already: no task may rest there.
        Status::Failed | Status::Timeout => return None,
    };
    let names = || {
        let names: Vec<_> = one.places.iter().map(|(place, _)| place.as_str()).collect();
        names.join(", ")
    };
    let status = task.status.as_str();
    match one.places.as_slice() {
        [] if allowed.is_empty() => None,
        [] if task.status == Status::Running => Some(("I4", "it is running without a lease".into())),
        [] => Some(("I9", format!("it is {status} and stands in no index"))),
        [(place, score)] if allowed.contains(place) => late(*place, *score, now),
        [_] => Some((
            "I9",
            format!("it is {status} and stands in the index {}", names()),
        )),
        [_, _, ..] => Some((
            "I9",
            format!("it is {status} and stands in several indices: {}", names()),
        )),
    }
}

fn late(place: Place, score: Millis, now: Millis) -> Option<(&'static str, String)> {
    let late_ms = now - score;
    let (invariant, what) = match place {
        Place::Due => ("I5", "due, and nobody made it ready"),
        Place::Dispatched => (
            "I5",
            "over its time as dispatched, and nobody made it ready again",
        ),
        Place::Lease => ("I4", "over the end of its lease, and nobody took it back"),
        Place::Dead | Place::Queue | Place::Blocked => return None,
    };
    (late_ms > LATE_MS).then(|| (invariant, format!("it is {what} for {} s", late_ms / 1_000)))
}
