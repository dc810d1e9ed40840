//! The world outside of the town: clients that submit until they are answered, and an operator.

use std::sync::Arc;
use std::time::Duration;

use admission::Limits;
use bytes::Bytes;
use domain::{Status, TaskId, Tier};
use proto::{AdmitOutcome, AdmitRequest, ReadyHint, Submission, WorkHint, WorkItem};
use runtime::Shutdown;
use store::{Admitted, Hint, NewTask, Operation, Origin, OutboxEntry, TaskStore, playing};

use crate::check::{Accepted, tasks::OPERATOR};
use crate::play::{Part, payload};
use crate::rng::Rng;
use crate::roles::Parts;
use crate::world::World;

/// The types that there are.
pub(crate) const TYPES: [&str; 2] = ["sim.play", "sim.other"];
/// Until when people act, in milliseconds from the start.
pub(crate) const BUSY_MS: i64 = 10_000;
/// Longest time that one call is played.
const PATIENCE: Duration = Duration::from_secs(120);

/// One submission.
#[derive(Debug, Clone)]
struct Wish {
    task_type: &'static str,
    key: String,
    payload: Bytes,
    tier: Tier,
    at_ms: i64,
}

/// Submits and operates until all is said.
pub(crate) async fn live(parts: Parts, _: Shutdown) {
    let parts = Arc::new(parts);
    let mut rng = parts.world.rng().fork();
    let wishes = wishes(&mut rng);
    parts.world.check().talking = wishes.len() + 1;
    for wish in wishes {
        tokio::spawn(one(Arc::clone(&parts), wish, rng.fork()));
    }
    operate(&parts, &mut rng).await;
    parts.world.check().talking -= 1;
    std::future::pending().await
}

fn wishes(rng: &mut Rng) -> Vec<Wish> {
    let mut wishes: Vec<Wish> = Vec::new();
    for number in 0..rng.range(6, 18) {
        let part = *rng.pick(&Part::ALL);
        let mut wish = Wish {
            task_type: rng.pick::<&str>(&TYPES),
            key: format!("k{number}"),
            payload: payload(part, rng),
            tier: *rng.pick(&Tier::ALL),
            at_ms: 0,
        };
        if rng.chance(200) {
            wish.at_ms = crate::host::START_MS + rng.range(0, BUSY_MS);
        }
        if !wishes.is_empty() && rng.chance(250) {
            // Again, and now and then with another payload.
            let before = rng.pick(&wishes).clone();
            let other = rng.chance(300);
            wish = Wish {
                payload: if other {
                    wish.payload
                } else {
                    before.payload.clone()
                },
                ..before
            };
        }
        wishes.push(wish);
    }
    wishes
}

async fn one(parts: Arc<Parts>, wish: Wish, mut rng: Rng) {
    tokio::time::sleep(Duration::from_millis(rng.range(0, BUSY_MS).unsigned_abs())).await;
    loop {
        let answered = match rng.range(0, 2) {
            0 => ask(&parts, &wish).await,
            1 => submit(&parts, &wish).await,
            _ => admit(&parts, &wish, rng.chance(500)).await,
        };
        if answered {
            break;
        }
        tokio::time::sleep(Duration::from_millis(rng.range(100, 900).unsigned_abs())).await;
    }
    parts.world.check().talking -= 1;
}

fn wire(wish: &Wish) -> Submission {
    Submission {
        task_type: wish.task_type.into(),
        payload: wish.payload.clone(),
        idempotency_key: wish.key.clone(),
        tier: wish.tier as u32,
        at_ms: wish.at_ms,
        ..Submission::default()
    }
}

fn note(world: &World, wish: &Wish, id: TaskId) {
    let at = (wish.task_type.to_owned(), wish.key.clone());
    let accepted = Accepted {
        id,
        payload: wish.payload.clone(),
    };
    let mut check = world.check();
    if let Some(before) = check.accepted.insert(at, accepted)
        && (before.id != id || before.payload != wish.payload)
    {
        check.say(
            "I1",
            format!("{} was accepted as {} and as {id}", wish.key, before.id),
        );
    }
}

/// Asks a dispatcher over NATS.
async fn ask(parts: &Parts, wish: &Wish) -> bool {
    let request = AdmitRequest {
        submissions: vec![wire(wish)],
    };
    let Ok(reply) = parts.bus.admit(&request).await else {
        return false;
    };
    let Some(result) = reply.results.first() else {
        return false;
    };
    match (result.outcome(), TaskId::from_slice(&result.task_id)) {
        (AdmitOutcome::Created | AdmitOutcome::Existing, Ok(id)) => {
            note(&parts.world, wish, id);
            true
        }
        _ => result.error_code == "idempotency_conflict",
    }
}

/// Leaves it in the stream of submissions: acknowledged is not accepted, but it will be.
async fn submit(parts: &Parts, wish: &Wish) -> bool {
    let Ok(acked) = parts.bus.publisher().submit(wish.tier, &wire(wish)).await else {
        return false;
    };
    let acked = acked.await.is_ok();
    if acked {
        let at = (wish.task_type.to_owned(), wish.key.clone());
        parts.world.check().promised.insert(at);
    }
    acked
}

/// Writes it into the store as a gateway does, by the short way or the long one.
async fn admit(parts: &Parts, wish: &Wish, direct: bool) -> bool {
    let Ok(types) = parts.types.refresh().await else {
        return false;
    };
    let submission = admission::Submission {
        task_type: wish.task_type,
        payload: wish.payload.clone(),
        idempotency_key: &wish.key,
        tier: wish.tier.as_str(),
        at: wish.at_ms,
        ..admission::Submission::default()
    };
    let task = admission::check(submission, &types, &Limits::default()).unwrap();
    let tasks = [NewTask { direct, ..task }];
    let partition = tasks[0].id.partition(parts.store.partitions());
    let origin = origin("api");
    let call = |nonce| parts.store.admit(partition, nonce, &origin, &tasks);
    let Ok(reply) = playing::answered(Duration::from_secs(3), call).await else {
        return false;
    };
    parts.announcer.announce_admitted(reply.outbox, &tasks);
    let task = &tasks[0];
    match reply.items.first() {
        Some(Admitted::Created { id, hint, .. }) => {
            note(&parts.world, wish, *id);
            if *hint == Hint::Work {
                hint_work(parts, partition, task, *id, reply.now).await;
            } else if *hint == Hint::Ready {
                hint_ready(parts, partition, &task.pool, task.tier, &task.task_type).await;
            }
        }
        Some(Admitted::Existing { id, .. }) => note(&parts.world, wish, *id),
        Some(Admitted::Conflict { .. }) | None => {}
    }
    true
}

async fn hint_work(parts: &Parts, partition: u16, task: &NewTask, id: TaskId, now: i64) {
    let hint = WorkHint {
        partition: partition.into(),
        pool: task.pool.clone(),
        tier: task.tier as u32,
        items: vec![WorkItem {
            task_id: Bytes::copy_from_slice(id.as_bytes()),
            task_type: task.task_type.clone(),
            batch_id: Bytes::new(),
        }],
        dispatched_at_ms: now,
    };
    let _ = parts.bus.publisher().publish_work(&hint).await;
}

async fn hint_ready(parts: &Parts, partition: u16, pool: &str, tier: Tier, task_type: &str) {
    let hint = ReadyHint {
        partition: partition.into(),
        pool: pool.to_owned(),
        tier: tier as u32,
        task_type: task_type.to_owned(),
    };
    let _ = parts.bus.publisher().publish_ready(&hint).await;
}

fn origin(actor: &str) -> Origin {
    Origin {
        actor: actor.into(),
        node: "people".into(),
        reason: "because".into(),
    }
}

/// Cancels, retries and resets what comes to hand.
async fn operate(parts: &Parts, rng: &mut Rng) {
    let mut now_ms = 0;
    loop {
        let wait_ms = rng.range(500, 4_000);
        now_ms += wait_ms;
        if now_ms > BUSY_MS {
            return;
        }
        tokio::time::sleep(Duration::from_millis(wait_ms.unsigned_abs())).await;
        let known: Vec<TaskId> = parts.world.check().tasks.keys().copied().collect();
        if known.is_empty() {
            continue;
        }
        let id = *rng.pick(&known);
        let operation = *rng.pick(&[
            Operation::Cancel,
            Operation::Retry { max_retry: None },
            Operation::Reset { max_retry: Some(3) },
        ]);
        let partition = id.partition(parts.store.partitions());
        let (origin, ids) = (origin(OPERATOR), [id]);
        let call = |nonce| parts.store.operate(partition, nonce, &origin, operation, &ids);
        let Ok(reply) = playing::answered(PATIENCE, call).await else {
            continue;
        };
        tell(parts, partition, reply.outbox).await;
    }
}

/// Ready hints for what waits again, a nudge for what is to stop, and the transitions.
async fn tell(parts: &Parts, partition: u16, outbox: Option<OutboxEntry>) {
    for event in outbox.iter().flat_map(|entry| &entry.events) {
        match event.to {
            Status::Pending => {
                hint_ready(parts, partition, &event.pool, event.tier, &event.task_type).await;
            }
            Status::Running => {
                let _ = parts.bus.nudge_stop("executor-1", event.task_id).await;
                let _ = parts.bus.nudge_stop("executor-2", event.task_id).await;
            }
            Status::Success
            | Status::Failed
            | Status::Retrying
            | Status::Timeout
            | Status::Dead
            | Status::Cancelled => {}
        }
    }
    parts.announcer.announce(outbox);
}
