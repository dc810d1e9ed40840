//! Gives every sealed batch whose rows have all ended the one task that follows it.
//!
//! The task has the key `<batch>/then`, so that it is one whatever is played again; the note in the store that it
//! followed outlives the key.

use std::time::Duration;

use admission::Submission;
use bytes::Bytes;
use domain::{Partition, Status, TaskId};
use proto::ReadyHint;
use serde_json::json;
use store::{Admitted, BatchCounts, EndedBatch, Hint, NewTask, Origin};

use crate::{
    Town,
    beat::{Duty, Next},
    call::in_time,
    error::Error,
};

/// How long one call is played again while the store does not answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);

/// The duty for the batches that are at home in one partition.
pub(crate) struct Follow {
    partition: Partition,
    after: Option<TaskId>,
}

impl Follow {
    pub(crate) const fn new(partition: Partition) -> Self {
        Self {
            partition,
            after: None,
        }
    }
}

impl Duty for Follow {
    const NAME: &'static str = "follow";

    fn every(&self, town: &Town) -> Duration {
        town.config.follow_every
    }

    async fn step(&mut self, town: &Town) -> Result<Next, Error> {
        if !town.turns.has(self.partition) {
            return Ok(Next::Later);
        }
        let page = in_time(town.parts.store.ended_batches(self.partition, self.after)).await?;
        let mut failed = None;
        for ended in page.ended {
            // One that fails keeps no other from what follows it.
            if let Err(error) = follow(town, &ended).await {
                failed = Some(error);
            }
        }
        self.after = page.next;
        match failed {
            Some(error) => Err(error),
            None if self.after.is_some() => Ok(Next::Now),
            None => Ok(Next::Later),
        }
    }
}

async fn follow(town: &Town, ended: &EndedBatch) -> Result<(), Error> {
    let task = task(town, ended).await?;
    let id = admit(town, ended, &task).await?;
    let store = &town.parts.store;
    let followed = store::playing::answered(ANSWER_LIMIT, |nonce| store.follow(nonce, ended.batch, id));
    let followed = followed.await?.unwrap_or(id);
    tracing::info!(batch_id = %ended.batch, task_id = %followed, task_type = task.task_type, "a batch has ended, its task follows");
    Ok(())
}

/// The task that follows; dead from the start where its type does not take it, so that somebody sees it.
async fn task(town: &Town, ended: &EndedBatch) -> Result<NewTask, Error> {
    let types = in_time(town.parts.types.refresh()).await?;
    let key = format!("{}/then", ended.batch);
    let submission = Submission {
        task_type: ended.sealed.seal.then.as_deref().unwrap_or_default(),
        payload: payload(ended.batch, &ended.counts),
        idempotency_key: &key,
        parent_id: ended.sealed.seal.parent_id,
        ..Submission::default()
    };
    let limits = &town.config.limits;
    match admission::check(submission.clone(), &types, limits) {
        Ok(task) => Ok(task),
        Err(problems) => admission::refuse(submission, &problems, &types, limits)
            .ok_or_else(|| store::Error::Corrupt(format!("nothing can follow batch {}", ended.batch)).into()),
    }
}

/// `{"batch_id": …, "total": …, "counts": {…}}`; counts name every status, zeros included.
fn payload(batch: TaskId, counts: &BatchCounts) -> Bytes {
    let count = |status: Status| counts.by_status.get(status.as_str()).copied().unwrap_or(0);
    let named = Status::ALL
        .into_iter()
        .map(|status| (status.as_str().to_owned(), json!(count(status))));
    let counts_json: serde_json::Map<_, _> = named.collect();
    let text = json!({"batch_id": batch, "total": counts.total, "counts": counts_json});
    text.to_string().into()
}

/// Admits the task, or finds the one that was admitted before; its id.
async fn admit(town: &Town, ended: &EndedBatch, task: &NewTask) -> Result<TaskId, Error> {
    let (store, partition) = (
        &town.parts.store,
        task.id.partition(town.parts.store.partitions()),
    );
    let origin = Origin {
        actor: ended.sealed.actor.clone(),
        reason: format!("batch {} has ended", ended.batch),
        ..town.origin.clone()
    };
    let tasks = std::slice::from_ref(task);
    let call = |nonce| store.admit(partition, nonce, &origin, tasks);
    let reply = store::playing::answered(ANSWER_LIMIT, call).await?;
    town.parts.announcer.announce(reply.outbox);
    match reply.items.first() {
        Some(Admitted::Created { id, hint, .. }) => {
            town.parts.metrics.submitted(&task.task_type, "batch");
            if *hint == Hint::Ready {
                hint_ready(town, partition, task).await;
            }
            Ok(*id)
        }
        // Counts may have changed since, where somebody retried a row: the task that was first is the one.
        Some(Admitted::Existing { id, .. } | Admitted::Conflict { id }) => Ok(*id),
        None => Err(store::Error::Corrupt("an admission without an answer".into()).into()),
    }
}

/// Where it is lost the dispatchers' own looks find the task.
async fn hint_ready(town: &Town, partition: Partition, task: &NewTask) {
    let hint = ReadyHint {
        partition: partition.into(),
        pool: task.pool.clone(),
        tier: task.tier as u32,
        task_type: task.task_type.clone(),
    };
    if let Err(error) = town.parts.bus.publisher().publish_ready(&hint).await {
        tracing::debug!(%error, "a ready hint was not sent");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_payload_names_every_status() {
        let mut counts = BatchCounts::default();
        counts.add(Status::Success, 2);
        counts.add(Status::Dead, 1);
        let payload = payload(TaskId::new(1, [2; 10]), &counts);
        let read: serde_json::Value = serde_json::from_slice(&payload).unwrap();
        assert_eq!(
            (&read["total"], &read["counts"]["success"]),
            (&json!(3), &json!(2))
        );
        assert_eq!(read["counts"].as_object().unwrap().len(), Status::ALL.len());
        assert_eq!(read["counts"]["cancelled"], 0);
    }
}
