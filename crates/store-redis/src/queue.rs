//! dispatch, undispatch and claim: from the queue to an executor.

use bytes::Bytes;
use domain::{Partition, Rejection, TaskId};
use store::{Claim, Claimed, Dispatch, Dispatched, Error, Nonce, Origin, Released, Reply};

use crate::connect::{RedisStore, Verb};
use crate::events::task_id;
use crate::header::decode;
use crate::keys::Keys;
use crate::pack::{Packer, Value};

impl RedisStore {
    pub(crate) async fn dispatch_tasks(
        &self,
        partition: Partition,
        nonce: Nonce,
        ask: &Dispatch,
    ) -> Result<Dispatched, Error> {
        let keys = Keys::of(partition);
        let limit = i64::try_from(ask.limit.min(store::BATCH_MAX)).unwrap_or(0);
        let mut verb = Verb::new(partition, nonce, &Origin::default())
            .int(limit)
            .int(ask.oldest.into());
        verb.keys = vec![keys.turns(&ask.pool, ask.tier), keys.heads(&ask.pool, ask.tier)];
        for task_type in &ask.types {
            verb.push(
                [keys.queue(&ask.pool, ask.tier, task_type)],
                task_type.clone().into_bytes(),
            );
        }
        let frame = self.verb(&self.scripts.dispatch, verb).await?;
        let items = Value::List(frame.items);
        let mut tasks = Vec::new();
        for task in items.at(0)?.list()? {
            let member = task.at(0)?.bytes()?;
            let id = TaskId::from_slice(&member[..member.len().min(16)])
                .map_err(|error| Error::Corrupt(error.to_string()))?;
            tasks.push((id, task.at(1)?.text()?, task.at(2)?.int()?));
        }
        let types = items
            .at(1)?
            .list()?
            .iter()
            .map(Value::text)
            .collect::<Result<_, _>>()?;
        let left = u64::try_from(items.at(2)?.int()?).unwrap_or(0);
        Ok(Dispatched {
            tasks,
            types,
            left,
            now: frame.now,
        })
    }

    pub(crate) async fn undispatch_tasks(
        &self,
        partition: Partition,
        nonce: Nonce,
        ids: &[TaskId],
    ) -> Result<Released, Error> {
        self.own(partition, ids.iter().copied())?;
        let lines = self.lines(partition, ids).await?;
        let mut verb = Verb::new(partition, nonce, &Origin::default());
        for (id, keys) in ids.iter().zip(lines) {
            verb.push(keys, id.as_bytes().to_vec());
        }
        let frame = self.verb(&self.scripts.undispatch, verb).await?;
        Ok(Released {
            count: frame.items.len(),
            more: false,
            queues: Vec::new(),
        })
    }

    pub(crate) async fn claim_tasks(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        claim: &Claim,
    ) -> Result<Reply<Claimed>, Error> {
        self.own(partition, claim.items.iter().map(|item| item.id))?;
        let keys = Keys::of(partition);
        let mut verb = Verb::new(partition, nonce, origin)
            .text(&claim.executor_id)
            .int(claim.lease_ms);
        for item in &claim.items {
            let arg = Packer::new()
                .bytes(item.id.as_bytes())
                .int(item.effective_tier as i64)
                .bytes(&item.random)
                .end();
            verb.push([keys.task(item.id)], arg);
        }
        let frame = self.verb(&self.scripts.claim, verb).await?;
        let mut items = Vec::with_capacity(frame.items.len());
        for ((value, payload), asked) in frame.items.iter().zip(frame.rest).zip(&claim.items) {
            items.push(claimed(asked.id, value, payload)?);
        }
        Ok(Reply {
            items,
            now: frame.now,
            outbox: frame.outbox,
        })
    }
}

fn claimed(id: TaskId, value: &Value, payload: Vec<u8>) -> Result<Claimed, Error> {
    match value.at(0)?.bytes()? {
        b"run" => Ok(Claimed::Run {
            task: Box::new(decode(id, value.at(1)?.bytes()?)?),
            payload: Bytes::from(payload),
        }),
        b"expired" => Ok(Claimed::Expired),
        _ => refusal(value.at(1)?).map(Claimed::Refused),
    }
}

pub(crate) fn refusal(value: &Value) -> Result<Rejection, Error> {
    let word = value.text()?;
    Rejection::parse(&word).ok_or_else(|| Error::Corrupt(format!("refusal {word:?}")))
}

/// The id at the head of a member of an index.
pub(crate) fn id_of(member: &[u8]) -> Result<TaskId, Error> {
    task_id(&Value::Bytes(member[..member.len().min(16)].to_vec()))
}
