//! admit: submissions become tasks.

use domain::{Partition, Status, TaskId};
use store::{Admitted, Error, Hint, NewTask, Nonce, Origin, Reply};

use crate::connect::{RedisStore, Verb};
use crate::events::task_id;
use crate::header::{new_header, status};
use crate::keys::Keys;
use crate::pack::{Packer, Value};

impl RedisStore {
    pub(crate) async fn admit_tasks(
        &self,
        partition: Partition,
        nonce: Nonce,
        origin: &Origin,
        tasks: &[NewTask],
    ) -> Result<Reply<Admitted>, Error> {
        self.refuse_full_memory().await?;
        self.own(partition, tasks.iter().map(|task| task.id))?;
        let keys = Keys::of(partition);
        let limit = i64::try_from(self.outbox_max).unwrap_or(i64::MAX);
        let mut verb = Verb::new(partition, nonce, origin).int(limit);
        for task in tasks {
            verb.push(keys.admission(task), item(task, &origin.actor));
        }
        let frame = self.verb(&self.scripts.admit, verb).await?;
        let mut reply = frame.reply(admitted)?;
        self.fill_status(&mut reply.items).await?;
        Ok(reply)
    }

    /// Admits nothing while the memory of Redis is nearly full.
    pub(crate) async fn refuse_full_memory(&self) -> Result<(), Error> {
        let used = self.memory_percent().await;
        let limit = self.memory_limit;
        if used < limit {
            return Ok(());
        }
        Err(Error::Full(format!(
            "the memory of Redis is {used} % full; nothing is admitted from {limit} % (limits.memory_percent)"
        )))
    }

    /// A key of a living task does not know its status: its record does.
    async fn fill_status(&self, items: &mut [Admitted]) -> Result<(), Error> {
        for item in items {
            if let Admitted::Existing {
                id,
                status: known @ Status::Pending,
            } = item
                && let Some(task) = self.record_of(*id).await?
            {
                *known = task.status;
            }
        }
        Ok(())
    }
}

/// A submission as the scripts take it; its keys are those of [`Keys::admission`].
pub(crate) fn item(task: &NewTask, actor: &str) -> Vec<u8> {
    Packer::new()
        .bytes(task.id.as_bytes())
        .bytes(&new_header(task, actor))
        .bytes(&task.payload)
        .int((!task.idempotency_key.is_empty()).into())
        .int(task.at)
        .int(task.delay_ms)
        .int(task.expire_after_ms)
        .int(task.key_window_ms)
        .text(task.rejected.as_deref().unwrap_or(""))
        .int(task.direct.into())
        .end()
}

pub(crate) const fn hint(number: i64) -> Hint {
    match number {
        1 => Hint::Ready,
        2 => Hint::Work,
        _ => Hint::None,
    }
}

fn admitted(value: &Value) -> Result<Admitted, Error> {
    let id: TaskId = task_id(value.at(1)?)?;
    // 0: the task lives, and its record has the status.
    let status = match value.at(2)?.int()? {
        0 => Status::Pending,
        number => status(number)?,
    };
    let hint = hint(value.at(3)?.int()?);
    match value.at(0)?.int()? {
        1 => Ok(Admitted::Created { id, status, hint }),
        2 => Ok(Admitted::Existing { id, status }),
        3 => Ok(Admitted::Conflict { id }),
        other => Err(Error::Corrupt(format!("admission kind {other}"))),
    }
}
