//! Claims the tasks of a hint, and starts their runs.

use std::sync::Arc;
use std::time::Duration;

use domain::{Partition, Task, TaskId, Tier};
use messaging::WorkMessage;
use store::{Claim, ClaimItem, Claimed};
use telemetry::{Stage, TaskSpan};
use tokio::{sync::OwnedSemaphorePermit, time::Instant};

use crate::{Executor, attempt, end::Ends};

/// How long a claim is tried: as long as the hint is worth something.
const CLAIM_LIMIT: Duration = Duration::from_secs(8);

/// Takes slots for messages of one partition and tier, at least one, and claims in the background; what finds no slot
/// is handed back.
pub(crate) fn start(executor: &Arc<Executor>, messages: Vec<WorkMessage>, ends: &Ends) {
    let mut permits = Vec::new();
    for _ in messages.iter().flat_map(|message| &message.hint.items) {
        match Arc::clone(&executor.slots).try_acquire_owned() {
            Ok(permit) => permits.push(permit),
            Err(_) => break,
        }
    }
    tokio::spawn(claim(Arc::clone(executor), messages, permits, ends.clone()));
}

async fn claim(
    executor: Arc<Executor>,
    messages: Vec<WorkMessage>,
    permits: Vec<OwnedSemaphorePermit>,
    ends: Ends,
) {
    let Some(first) = messages.first() else { return };
    let partition = Partition::try_from(first.hint.partition).unwrap_or(Partition::MAX);
    let tier = first.tier;
    let items = messages.iter().flat_map(|message| &message.hint.items);
    let known = |item: &proto::WorkItem| TaskId::from_slice(&item.task_id).ok();
    let here = |id: &TaskId| id.partition(executor.parts.store.partitions()) == partition;
    let (ids, elsewhere): (Vec<_>, Vec<_>) = items.filter_map(known).partition(here);
    if !elsewhere.is_empty() {
        tracing::warn!(
            partition,
            tasks = elsewhere.len(),
            "a hint names tasks of another partition"
        );
    }
    if executor.acks_first() {
        ack(&messages).await;
    }
    let (mine, rest) = ids.split_at(permits.len().min(ids.len()));
    let handed_back = hand_back(&executor, partition, rest);
    let claimed = claim_all(&executor, partition, mine, tier, permits, &ends);
    let (claimed, ()) = tokio::join!(claimed, handed_back);
    executor.counts.take(ids.len());
    // No answer from the store, no ack: the hint then comes again.
    if claimed {
        ack(&messages).await;
    }
}

async fn ack(messages: &[WorkMessage]) {
    for message in messages {
        if let Err(error) = message.ack().await {
            tracing::debug!(%error, "a hint could not be acked");
        }
    }
}

async fn hand_back(executor: &Executor, partition: Partition, ids: &[TaskId]) {
    if ids.is_empty() {
        return;
    }
    let call = |nonce| executor.parts.store.undispatch(partition, nonce, ids);
    if let Err(error) = store::playing::answered(CLAIM_LIMIT, call).await {
        tracing::debug!(%error, "tasks without a slot stay dispatched until their lease ends");
    }
}

async fn claim_all(
    executor: &Arc<Executor>,
    partition: Partition,
    ids: &[TaskId],
    tier: Tier,
    permits: Vec<OwnedSemaphorePermit>,
    ends: &Ends,
) -> bool {
    if ids.is_empty() {
        return true;
    }
    let claim = Claim {
        executor_id: executor.config.id.clone(),
        lease_ms: executor.lease_ms(),
        items: ids.iter().map(|id| item(*id, tier)).collect(),
    };
    let call = |nonce| {
        executor
            .parts
            .store
            .claim(partition, nonce, &executor.origin, &claim)
    };
    let asked = Instant::now();
    let reply = match store::playing::answered(CLAIM_LIMIT, call).await {
        Ok(reply) => reply,
        Err(error) => {
            log_unanswered(&error, partition, ids.len());
            return false;
        }
    };
    executor.parts.announcer.announce(reply.outbox);
    let start = |task: Task, payload, permit| {
        trace_dispatch(&task);
        let slot = (permit, executor.term(asked));
        attempt::start(executor, partition, task, payload, slot, ends);
    };
    for (claimed, permit) in reply.items.into_iter().zip(permits) {
        match claimed {
            Claimed::Run { task, payload } => start(*task, payload, permit),
            Claimed::Refused(why) => tracing::debug!(why = why.as_str(), "a claim was refused"),
            Claimed::Expired => {}
        }
    }
    true
}

fn item(id: TaskId, effective_tier: Tier) -> ClaimItem {
    let [random, _] = halves(store::playing::nonce());
    ClaimItem {
        id,
        effective_tier,
        random,
    }
}

/// That the store is away is a line of the dependency, not one of each hint.
fn log_unanswered(error: &store::Error, partition: Partition, tasks: usize) {
    if error.is_passing() {
        tracing::debug!(%error, partition, tasks, "a claim got no answer");
    } else {
        tracing::warn!(%error, partition, tasks, "a claim failed");
    }
}

/// The dispatch that led to this claim. Only now its attempt is known, and that it led to anything: a hint may be lost
/// and the task dispatched again.
fn trace_dispatch(task: &Task) {
    if task.sampled && telemetry::traces_on() {
        let us = |ms: i64| ms.saturating_mul(1_000);
        let (id, attempt) = (task.id, task.attempt);
        let (sent, claimed) = (us(task.dispatched_at), us(task.claimed_at));
        let span = TaskSpan::new(id, Stage::Dispatch, attempt, sent, claimed);
        telemetry::record_span(
            span.with("gengfu.task_type", task.task_type.clone())
                .with("gengfu.pool", task.pool.clone())
                .with("gengfu.tier", task.effective_tier.as_str()),
        );
    }
}

fn halves(nonce: [u8; 16]) -> [[u8; 8]; 2] {
    let (mut a, mut b) = ([0; 8], [0; 8]);
    a.copy_from_slice(&nonce[..8]);
    b.copy_from_slice(&nonce[8..]);
    [a, b]
}
