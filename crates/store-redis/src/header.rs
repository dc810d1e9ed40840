//! The packed record of a task: an array of fields in one order, which the scripts know by name (`F_STATUS`).

use domain::{ErrorClass, Status, Stop, Task, TaskId, Tier, TimelineItem, Token};
use store::{Error, NewTask};

use crate::pack::{Packer, Value, unpack};

/// The fields in order; the scripts write `F_` and the name. New fields go to the end.
pub(crate) const FIELDS: [&str; 38] = [
    "STATUS",
    "VERSION",
    "TYPE",
    "POOL",
    "TIER",
    "ETIER",
    "RETRIES",
    "MAX_RETRY",
    "ATTEMPT",
    "LOSSES",
    "MAX_LOST",
    "LOSS_SINCE",
    "RUN_TIMEOUT",
    "CREATED",
    "UPDATED",
    "DUE",
    "EXPIRE",
    "READY",
    "DISPATCHED",
    "CLAIMED",
    "FINISHED",
    "DEADLINE",
    "TOKEN",
    "EXECUTOR",
    "CLASS",
    "CODE",
    "SHA",
    "KEY",
    "KEY_UNTIL",
    "SCHEDULE",
    "PLANNED",
    "BATCH",
    "ROW",
    "PARENT",
    "ACTOR",
    "STOP",
    "SAMPLED",
    "LINK",
];

/// The record of a task that comes into being; the script fills in times and status.
pub(crate) fn new_header(task: &NewTask, actor: &str) -> Vec<u8> {
    let id = |id: Option<TaskId>| id.map_or(Vec::new(), |id| id.as_bytes().to_vec());
    Packer::new()
        .int(0)
        .int(0)
        .text(&task.task_type)
        .text(&task.pool)
        .int(task.tier as i64)
        .int(task.tier as i64)
        .int(0)
        .int(task.max_retry.into())
        .int(0)
        .int(0)
        .int(task.max_lost.into())
        .int(0)
        .int(task.run_timeout_ms)
        .int(0) // created
        .int(0)
        .int(0)
        .int(0)
        .int(0)
        .int(0)
        .int(0)
        .int(0)
        .int(0) // deadline
        .text("")
        .text("")
        .int(0)
        .text("")
        .bytes(&task.payload_sha256)
        .text(&task.idempotency_key)
        .int(0)
        .text(&task.schedule_id)
        .int(task.planned_at)
        .bytes(&id(task.batch_id))
        .int(task.batch_row.into())
        .bytes(&id(task.parent_id))
        .text(actor)
        .int(0)
        .int(task.sampled.into())
        .text(&task.trace_link)
        .end()
}

/// Reads fields in order.
pub(crate) struct Fields<'a>(std::slice::Iter<'a, Value>);

impl<'a> Fields<'a> {
    pub(crate) fn of(record: &'a Value) -> Result<Self, Error> {
        Ok(Self(record.list()?.iter()))
    }

    fn next(&mut self) -> Result<&Value, Error> {
        self.0
            .next()
            .ok_or_else(|| Error::Corrupt("a record has too few fields".into()))
    }

    pub(crate) fn int<T: TryFrom<i64>>(&mut self) -> Result<T, Error> {
        let number = self.next()?.int()?;
        T::try_from(number).map_err(|_| Error::Corrupt(format!("{number} does not fit its field")))
    }

    pub(crate) fn bytes(&mut self) -> Result<&[u8], Error> {
        self.next()?.bytes()
    }

    pub(crate) fn text(&mut self) -> Result<String, Error> {
        self.next()?.text()
    }

    pub(crate) fn id(&mut self) -> Result<Option<TaskId>, Error> {
        Ok(TaskId::from_slice(self.bytes()?).ok())
    }

    fn tier(&mut self) -> Result<Tier, Error> {
        tier(self.int()?)
    }
}

pub(crate) fn tier(number: u8) -> Result<Tier, Error> {
    Tier::from_u8(number).ok_or_else(|| Error::Corrupt(format!("tier {number}")))
}

pub(crate) fn status(number: i64) -> Result<Status, Error> {
    u8::try_from(number)
        .ok()
        .and_then(Status::from_u8)
        .ok_or_else(|| Error::Corrupt(format!("status {number}")))
}

/// The record of `id` in its packed form.
pub(crate) fn decode(id: TaskId, packed: &[u8]) -> Result<Task, Error> {
    let record = unpack(packed)?;
    let mut f = Fields::of(&record)?;
    Ok(Task {
        id,
        status: status(f.int()?)?,
        version: f.int()?,
        task_type: f.text()?,
        pool: f.text()?,
        tier: f.tier()?,
        effective_tier: f.tier()?,
        retry_count: f.int()?,
        max_retry: f.int()?,
        attempt: f.int()?,
        losses: f.int()?,
        max_lost: f.int()?,
        loss_since: f.int()?,
        run_timeout_ms: f.int()?,
        create_time: f.int()?,
        update_time: f.int()?,
        next_run_time: f.int()?,
        expire_at: f.int()?,
        ready_at: f.int()?,
        dispatched_at: f.int()?,
        claimed_at: f.int()?,
        finished_at: f.int()?,
        deadline: f.int()?,
        lease_token: Token::from_slice(f.bytes()?),
        executor_id: f.text()?,
        error_class: ErrorClass::from_u8(f.int()?),
        error_code: f.text()?,
        payload_sha256: f.bytes()?.try_into().unwrap_or_default(),
        idempotency_key: f.text()?,
        key_until: f.int()?,
        schedule_id: f.text()?,
        planned_at: f.int()?,
        batch_id: f.id()?,
        batch_row: f.int()?,
        parent_id: f.id()?,
        actor: f.text()?,
        stop: Stop::from_u8(f.int()?),
        sampled: f.int::<i64>()? != 0,
        trace_link: f.text()?,
    })
}

/// The timeline: items one after the other, each behind two bytes of its length.
pub(crate) fn decode_timeline(mut packed: &[u8]) -> Result<Vec<TimelineItem>, Error> {
    let mut items = Vec::new();
    while let Some((length, rest)) = packed.split_first_chunk::<2>() {
        let length = usize::from(u16::from_be_bytes(*length));
        let (item, rest) = rest
            .split_at_checked(length)
            .ok_or_else(|| Error::Corrupt("a timeline is cut".into()))?;
        packed = rest;
        let item = unpack(item)?;
        let mut f = Fields::of(&item)?;
        items.push(TimelineItem {
            version: f.int()?,
            from: status(f.int()?).ok(),
            to: status(f.int()?)?,
            at: f.int()?,
            attempt: f.int()?,
            actor: f.text()?,
            node: f.text()?,
            reason: f.text()?,
            error_class: ErrorClass::from_u8(f.int()?),
            error_code: f.text()?,
        });
    }
    Ok(items)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_record_has_every_field() {
        let task = NewTask {
            id: TaskId::new(1, [3; 10]),
            task_type: "a".into(),
            pool: "p".into(),
            tier: Tier::High,
            payload: bytes::Bytes::new(),
            payload_sha256: [7; 32],
            idempotency_key: "k".into(),
            key_window_ms: 0,
            delay_ms: 0,
            at: 0,
            expire_after_ms: 0,
            max_retry: 4,
            max_lost: 3,
            run_timeout_ms: 5,
            schedule_id: String::new(),
            planned_at: 0,
            batch_id: Some(TaskId::new(2, [4; 10])),
            batch_row: 9,
            parent_id: None,
            sampled: true,
            trace_link: String::new(),
            rejected: None,
            direct: false,
        };
        let packed = new_header(&task, "me");
        let Value::List(fields) = unpack(&packed).unwrap() else {
            panic!()
        };
        assert_eq!(fields.len(), FIELDS.len());
        let index = |name| FIELDS.iter().position(|field| *field == name).unwrap();
        assert_eq!(fields[index("SHA")], Value::Bytes(vec![7; 32]));
        assert_eq!(fields[index("ROW")], Value::Int(9));
        assert_eq!(fields[index("ACTOR")], Value::Bytes(b"me".to_vec()));
        assert_eq!(fields[index("SAMPLED")], Value::Int(1));
        assert_eq!(fields[index("DEADLINE")], Value::Int(0));
    }
}
