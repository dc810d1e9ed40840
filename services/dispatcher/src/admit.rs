//! Turns submissions from the wire into tasks.

use std::borrow::Cow;
use std::collections::HashMap;
use std::time::Duration;

use admission::{Problem, check, refuse};
use bytes::Bytes;
use domain::{Partition, TaskId, Tier};
use proto::{AdmitOutcome, AdmitResult, ReadyHint, Submission};
use store::{Admitted, Error, Hint, NewTask, Origin};

use crate::{Dispatcher, ready};

/// How long an admission is tried before the message is left to come again.
const ADMIT_LIMIT: Duration = Duration::from_secs(4);

/// A submission that was checked: a task, or the first thing that is wrong with it.
pub(crate) type Checked = Result<NewTask, AdmitResult>;

fn shape<'a>(
    wire: &'a Submission,
    key: &'a str,
    tier_name: &'a str,
    traceparent: &'a str,
) -> admission::Submission<'a> {
    let now = runtime::clock::now_ms();
    admission::Submission {
        task_type: &wire.task_type,
        payload: Bytes::copy_from_slice(&wire.payload),
        idempotency_key: key,
        pool: &wire.pool,
        tier: tier_name,
        at: wire.at_ms,
        expire_after_ms: if wire.expire_at_ms > 0 {
            (wire.expire_at_ms - now).max(1)
        } else {
            0
        },
        max_retry: wire.max_retry,
        batch_id: TaskId::from_slice(&wire.batch_id).ok(),
        batch_row: wire.batch_row,
        parent_id: TaskId::from_slice(&wire.parent_id).ok(),
        traceparent,
        ..admission::Submission::default()
    }
}

/// Checks one; with `keep`, bad input becomes a dead task where it can.
pub(crate) async fn checked(
    dispatcher: &Dispatcher,
    wire: &Submission,
    key: &str,
    tier: Option<Tier>,
    traceparent: &str,
    keep: bool,
) -> Checked {
    let limits = &dispatcher.config.limits;
    let mut types = dispatcher.parts.types.table();
    if types.get(&wire.task_type).is_none() {
        types = dispatcher.parts.types.refresh().await.unwrap_or(types);
    }
    let tier = tier_name(wire.tier, tier);
    let submission = shape(wire, key, &tier, traceparent);
    let mut problems = bad_ids(wire);
    match check(submission.clone(), &types, limits) {
        Ok(task) if problems.is_empty() => return Ok(task),
        Ok(_) => {}
        Err(more) => problems.extend(more),
    }
    let kept = keep
        .then(|| refuse(submission, &problems, &types, limits))
        .flatten();
    kept.ok_or_else(|| refused("invalid_input", problems.first()))
}

/// The tier's name; that of a number that is no tier is none either.
fn tier_name(number: u32, otherwise: Option<Tier>) -> Cow<'static, str> {
    if number == 0 {
        return otherwise.map_or("", Tier::as_str).into();
    }
    let known = u8::try_from(number).ok().and_then(Tier::from_u8);
    known.map_or_else(|| number.to_string().into(), |tier| tier.as_str().into())
}

/// What is wrong with the ids, which only the wire can write wrongly.
fn bad_ids(wire: &Submission) -> Vec<Problem> {
    let ids = [("batch_id", &wire.batch_id), ("parent_id", &wire.parent_id)];
    let wrong = ids
        .into_iter()
        .filter(|(_, bytes)| !bytes.is_empty() && bytes.len() != 16);
    wrong
        .map(|(field, bytes)| {
            let reason = format!("has {} bytes and is no id", bytes.len());
            Problem::new(field, reason, "give the 16 bytes of a UUID, or none")
        })
        .collect()
}

pub(crate) fn refused(code: &str, problem: Option<&Problem>) -> AdmitResult {
    AdmitResult {
        outcome: AdmitOutcome::Refused.into(),
        error_code: code.to_owned(),
        error: problem
            .map(|problem| format!("{} {}; {}", problem.field, problem.reason, problem.remedy))
            .unwrap_or_default(),
        field: problem.map(|problem| problem.field.clone()).unwrap_or_default(),
        ..AdmitResult::default()
    }
}

/// Admits tasks of any partitions; the answers in their order.
pub(crate) async fn admit(
    dispatcher: &Dispatcher,
    actor: &str,
    tasks: Vec<NewTask>,
) -> Vec<Result<Admitted, Error>> {
    let partitions = dispatcher.parts.store.partitions();
    let mut groups: HashMap<Partition, Vec<(usize, NewTask)>> = HashMap::new();
    let mut answers: Vec<Result<Admitted, Error>> = Vec::with_capacity(tasks.len());
    for (at, task) in tasks.into_iter().enumerate() {
        answers.push(Err(Error::Corrupt("not answered".into())));
        groups
            .entry(task.id.partition(partitions))
            .or_default()
            .push((at, task));
    }
    for (partition, group) in groups {
        for part in group.chunks(store::BATCH_MAX) {
            let tasks: Vec<_> = part.iter().map(|(_, task)| task.clone()).collect();
            match admit_part(dispatcher, actor, partition, &tasks).await {
                Ok(items) => part
                    .iter()
                    .zip(items)
                    .for_each(|((at, _), item)| answers[*at] = Ok(item)),
                Err(error) => {
                    let said = error.to_string();
                    part.iter()
                        .for_each(|(at, _)| answers[*at] = Err(Error::Full(said.clone())));
                }
            }
        }
    }
    answers
}

async fn admit_part(
    dispatcher: &Dispatcher,
    actor: &str,
    partition: Partition,
    tasks: &[NewTask],
) -> Result<Vec<Admitted>, Error> {
    let origin = Origin {
        actor: actor.to_owned(),
        node: dispatcher.config.node.clone(),
        reason: String::new(),
    };
    let call = |nonce| dispatcher.parts.store.admit(partition, nonce, &origin, tasks);
    let reply = store::playing::answered(ADMIT_LIMIT, call).await?;
    dispatcher.parts.announcer.announce_admitted(reply.outbox, tasks);
    for (task, admitted) in tasks.iter().zip(&reply.items) {
        if let Admitted::Created {
            hint: Hint::Ready, ..
        } = admitted
        {
            let hint = ReadyHint {
                partition: partition.into(),
                pool: task.pool.clone(),
                tier: task.tier as u32,
                task_type: task.task_type.clone(),
            };
            // This dispatcher knows at once; the one that orders the pool may be another.
            ready::hear(dispatcher, &hint);
            let _ = dispatcher.parts.bus.publisher().publish_ready(&hint).await;
        }
        if let Admitted::Created { .. } = admitted {
            dispatcher.parts.metrics.submitted(&task.task_type, "nats");
        }
    }
    Ok(reply.items)
}
