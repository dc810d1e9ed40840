//! Events as the scripts pack them.

use domain::{ErrorClass, Status, Task, TaskId, TimelineItem};
use store::{Error, TaskEvent};

use crate::header::{status, tier};
use crate::pack::{Value, unpack};

pub(crate) fn decode(packed: &[u8]) -> Result<Vec<TaskEvent>, Error> {
    unpack(packed)?.list()?.iter().map(event).collect()
}

fn event(value: &Value) -> Result<TaskEvent, Error> {
    let int = |at: usize| value.at(at)?.int();
    let small = |at: usize| int(at).map(|number| u16::try_from(number).unwrap_or(u16::MAX));
    let text = |at: usize| value.at(at)?.text();
    let from: i64 = int(2)?;
    Ok(TaskEvent {
        task_id: task_id(value.at(0)?)?,
        version: u32::try_from(int(1)?).unwrap_or(0),
        from: if from == 0 { None } else { Some(status(from)?) },
        to: status(int(3)?)?,
        at: int(4)?,
        attempt: u32::try_from(int(5)?).unwrap_or(0),
        actor: text(6)?,
        node: text(7)?,
        reason: text(8)?,
        error_class: u8::try_from(int(9)?).ok().and_then(ErrorClass::from_u8),
        error_code: text(10)?,
        task_type: text(11)?,
        pool: text(12)?,
        tier: tier(u8::try_from(int(13)?).unwrap_or(0))?,
        batch_id: TaskId::from_slice(value.at(14)?.bytes()?).ok(),
        retry_count: small(15)?,
        max_retry: small(16)?,
        wait_ms: int(17)?,
        run_ms: int(18)?,
        delay_ms: int(19)?,
        sampled: int(20)? != 0,
        schedule_id: text(21)?,
    })
}

pub(crate) fn task_id(value: &Value) -> Result<TaskId, Error> {
    TaskId::from_slice(value.bytes()?).map_err(|error| Error::Corrupt(error.to_string()))
}

/// The event of a timeline item, as far as the record still tells.
pub(crate) fn of_timeline(task: &Task, item: TimelineItem) -> TaskEvent {
    let newest = item.attempt == task.attempt;
    let claimed = newest && item.to == Status::Running && item.from != Some(Status::Running);
    TaskEvent {
        task_id: task.id,
        version: item.version,
        from: item.from,
        to: item.to,
        at: item.at,
        attempt: item.attempt,
        actor: item.actor,
        node: item.node,
        reason: item.reason,
        error_class: item.error_class,
        error_code: item.error_code,
        task_type: task.task_type.clone(),
        pool: task.pool.clone(),
        tier: task.tier,
        batch_id: task.batch_id,
        retry_count: task.retry_count,
        max_retry: task.max_retry,
        wait_ms: if claimed {
            (item.at - task.ready_at).max(0)
        } else {
            0
        },
        run_ms: if newest && item.from == Some(Status::Running) {
            (item.at - task.claimed_at).max(0)
        } else {
            0
        },
        delay_ms: 0,
        sampled: task.sampled,
        schedule_id: task.schedule_id.clone(),
    }
}
