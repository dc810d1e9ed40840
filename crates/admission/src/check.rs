//! One submission, checked whole: every problem is told, not only the first.

use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use domain::{Millis, TaskId, Tier, TypeSpec, valid_pool};
use sha2::{Digest, Sha256};
use store::NewTask;

use crate::{KnownType, Problem, TypeTable};

/// Longest idempotency key, in bytes.
const KEY_BYTES: usize = 512;
/// The furthest that a task may wait: a hundred years, in milliseconds.
const WAIT_MAX_MS: i64 = 100 * 366 * 86_400_000;

/// What admission goes by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Most bytes of a payload.
    pub payload_bytes: usize,
    /// Share of tasks that are traced, 0 to 1.
    pub sample_ratio: f64,
    /// Milliseconds that an idempotency key lives at least.
    pub key_window_ms: i64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            payload_bytes: 256 * 1024,
            sample_ratio: 1.0,
            key_window_ms: 86_400_000,
        }
    }
}

/// A task as somebody hands it in. Texts that are empty, and numbers that are 0, are not given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Submission<'a> {
    /// The name of a declared type.
    pub task_type: &'a str,
    /// Opaque bytes, kept exactly.
    pub payload: Bytes,
    /// The same key is the same task.
    pub idempotency_key: &'a str,
    /// The pool, if not the type's.
    pub pool: &'a str,
    /// The tier's name, if not the type's tier.
    pub tier: &'a str,
    /// Not before this instant.
    pub at: Millis,
    /// Milliseconds until it is due.
    pub delay_ms: i64,
    /// Milliseconds after which a start is refused, if not the type's.
    pub expire_after_ms: i64,
    /// Retries that it may spend, if not the type's.
    pub max_retry: Option<u32>,
    /// Its batch.
    pub batch_id: Option<TaskId>,
    /// Its row: the line of the record's first line, from 1.
    pub batch_row: u32,
    /// The task that made it.
    pub parent_id: Option<TaskId>,
    /// Its schedule.
    pub schedule_id: &'a str,
    /// The instant it was planned for.
    pub planned_at: Millis,
    /// The caller's own W3C trace context; what is none is left out.
    pub traceparent: &'a str,
    /// Why it shall be dead from the start; its payload is then not checked against the schema.
    pub rejected: Option<String>,
}

/// Turns a submission into a task with a new id; `direct` is off.
///
/// # Errors
/// Everything that is wrong with it.
pub fn check(
    submission: Submission<'_>,
    types: &TypeTable,
    limits: &Limits,
) -> Result<NewTask, Vec<Problem>> {
    let mut problems = Vec::new();
    let known = known_type(submission.task_type, types, &mut problems);
    let tier = tier(submission.tier, known.map(KnownType::spec), &mut problems);
    let max_retry = max_retry(submission.max_retry, &mut problems);
    key_and_pool(&submission, &mut problems);
    times(&submission, &mut problems);
    payload(&submission, known, limits, &mut problems);
    match known {
        Some(known) if problems.is_empty() => Ok(task(submission, known.spec(), tier, max_retry, limits)),
        _ => Err(problems),
    }
}

fn known_type<'t>(name: &str, types: &'t TypeTable, problems: &mut Vec<Problem>) -> Option<&'t KnownType> {
    let (reason, remedy) = match types.get(name) {
        Some(Ok(known)) => return Some(known),
        Some(Err(error)) => (error.to_string(), "apply the type again with a schema that works"),
        None if name.is_empty() => ("is missing".to_owned(), "name a declared type"),
        None => (
            format!("there is no type {:?}", shown(name)),
            "declare it with gengfu apply, or see gengfu type list",
        ),
    };
    problems.push(Problem::new("task_type", reason, remedy));
    None
}

fn tier(name: &str, spec: Option<&TypeSpec>, problems: &mut Vec<Problem>) -> Tier {
    let own = spec.map_or(Tier::Normal, |spec| spec.tier);
    if name.is_empty() {
        return own;
    }
    name.parse().unwrap_or_else(|_| {
        let reason = format!("there is no tier {:?}", shown(name));
        problems.push(Problem::new("tier", reason, "give critical, high, normal or low"));
        own
    })
}

fn max_retry(asked: Option<u32>, problems: &mut Vec<Problem>) -> Option<u16> {
    let retries = u16::try_from(asked?);
    if retries.is_err() {
        problems.push(Problem::new("max_retry", "is over 65535", "give 0 to 65535"));
    }
    retries.ok()
}

fn key_and_pool(submission: &Submission<'_>, problems: &mut Vec<Problem>) {
    let bytes = submission.idempotency_key.len();
    if bytes > KEY_BYTES {
        let reason = format!("has {bytes} bytes, more than {KEY_BYTES}");
        problems.push(Problem::new(
            "idempotency_key",
            reason,
            "give a shorter one, such as a hash",
        ));
    }
    if !submission.pool.is_empty() && !valid_pool(submission.pool) {
        let reason = format!("{:?} is no pool name", shown(submission.pool));
        problems.push(Problem::new(
            "pool",
            reason,
            "use a-z, 0-9, '_', '-', starting with a letter or digit",
        ));
    }
}

fn times(submission: &Submission<'_>, problems: &mut Vec<Problem>) {
    if submission.at != 0 && submission.delay_ms != 0 {
        problems.push(Problem::new("at", "is given beside delay", "give one of them"));
    }
    let far = now_ms().saturating_add(WAIT_MAX_MS);
    for (field, value, limit) in [
        ("at", submission.at, far),
        ("delay", submission.delay_ms, WAIT_MAX_MS),
        ("expire_after", submission.expire_after_ms, WAIT_MAX_MS),
    ] {
        if value < 0 || value > limit {
            problems.push(Problem::new(
                field,
                "lies out of range",
                "give a time within a hundred years",
            ));
        }
    }
}

fn payload(
    submission: &Submission<'_>,
    known: Option<&KnownType>,
    limits: &Limits,
    problems: &mut Vec<Problem>,
) {
    let (bytes, limit) = (submission.payload.len(), limits.payload_bytes);
    if bytes > limit {
        problems.push(Problem::over_limit(bytes, limit));
    } else if let Some(known) = known.filter(|_| submission.rejected.is_none()) {
        problems.extend(known.faults(&submission.payload).into_iter().map(Problem::from));
    }
}

fn task(
    submission: Submission<'_>,
    spec: &TypeSpec,
    tier: Tier,
    max_retry: Option<u16>,
    limits: &Limits,
) -> NewTask {
    let expires = (submission.expire_after_ms != 0).then_some(submission.expire_after_ms);
    NewTask {
        pool: if submission.pool.is_empty() {
            spec.pool.clone()
        } else {
            submission.pool.to_owned()
        },
        tier,
        expire_after_ms: expires.or(spec.expire_after_ms()).unwrap_or(0),
        max_retry: max_retry.unwrap_or_else(|| spec.max_retry_for(tier)),
        max_lost: spec.max_lost,
        run_timeout_ms: spec.run_timeout_ms(),
        ..bare(submission, limits)
    }
}

/// The task without what its type decides.
pub(crate) fn bare(submission: Submission<'_>, limits: &Limits) -> NewTask {
    let id = new_id(submission.task_type, submission.idempotency_key);
    let link = telemetry::parse_traceparent(submission.traceparent);
    NewTask {
        id,
        task_type: submission.task_type.to_owned(),
        pool: String::new(),
        tier: Tier::Normal,
        payload_sha256: Sha256::digest(&submission.payload).into(),
        payload: submission.payload,
        idempotency_key: submission.idempotency_key.to_owned(),
        key_window_ms: limits.key_window_ms,
        delay_ms: submission.delay_ms,
        at: submission.at,
        expire_after_ms: 0,
        max_retry: 0,
        max_lost: 1,
        run_timeout_ms: 0,
        schedule_id: submission.schedule_id.to_owned(),
        planned_at: submission.planned_at,
        batch_id: submission.batch_id,
        batch_row: submission.batch_row,
        parent_id: submission.parent_id,
        sampled: telemetry::sampled(id, limits.sample_ratio),
        trace_link: link.map_or_else(|_| String::new(), |_| submission.traceparent.to_owned()),
        rejected: submission.rejected,
        direct: false,
    }
}

fn new_id(task_type: &str, key: &str) -> TaskId {
    if key.is_empty() {
        TaskId::new(now_ms(), random())
    } else {
        TaskId::keyed(now_ms(), random(), task_type, key)
    }
}

/// The random part of an id.
pub(crate) fn random() -> [u8; 10] {
    let mut random = [0; 10];
    // Without the system's randomness an id would repeat, and with it a task vanish; no Gengfu runs there.
    #[expect(clippy::expect_used, reason = "no platform that we build for is without it")]
    getrandom::fill(&mut random).expect("randomness of the system");
    random
}

/// This host's clock; it goes into ids only, and bounds times that are out of all reason.
pub(crate) fn now_ms() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// As much of a name as a message needs.
fn shown(name: &str) -> &str {
    &name[..name.floor_char_boundary(100)]
}

#[cfg(test)]
mod tests;
