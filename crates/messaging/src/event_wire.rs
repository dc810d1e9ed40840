//! Transitions as they stand in the store and as they stand on the wire.

use bytes::Bytes;
use domain::{ErrorClass, Status, TaskId, Tier};
use store::{OutboxEntry, TaskEvent};

/// A number or an id in an event that is none of ours: its writer is newer, or no Gengfu.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("an event's {field} can't be {value}")]
pub struct EventError {
    field: &'static str,
    value: String,
}

/// An outbox entry as it is published.
#[must_use]
pub fn entry_to_wire(entry: OutboxEntry) -> proto::EventEntry {
    proto::EventEntry {
        outbox_id: entry.id,
        events: entry.events.into_iter().map(event_to_wire).collect(),
        refused: Vec::new(),
    }
}

/// A transition as it is published.
#[must_use]
pub fn event_to_wire(event: TaskEvent) -> proto::TaskEvent {
    proto::TaskEvent {
        task_id: id_bytes(Some(event.task_id)),
        version: event.version,
        from: event.from.map_or(0, |status| status as u32),
        to: event.to as u32,
        at_ms: event.at,
        attempt: event.attempt,
        task_type: event.task_type,
        pool: event.pool,
        tier: event.tier as u32,
        actor: event.actor,
        node: event.node,
        reason: event.reason,
        error_class: event.error_class.map_or(0, |class| class as u32),
        error_code: event.error_code,
        wait_ms: event.wait_ms,
        run_ms: event.run_ms,
        batch_id: id_bytes(event.batch_id),
        retry_count: u32::from(event.retry_count),
        schedule_id: event.schedule_id,
        sampled: u32::from(event.sampled),
    }
}

/// A published transition as the store takes it. What the wire does not carry (`max_retry`, `delay_ms`) is 0.
///
/// # Errors
/// Where a number or an id is none of ours.
pub fn event_from_wire(event: proto::TaskEvent) -> Result<TaskEvent, EventError> {
    Ok(TaskEvent {
        task_id: id("task_id", &event.task_id)?,
        version: event.version,
        from: match event.from {
            0 => None,
            number => Some(status(number)?),
        },
        to: status(event.to)?,
        at: event.at_ms,
        attempt: event.attempt,
        actor: event.actor,
        node: event.node,
        reason: event.reason,
        error_class: match event.error_class {
            0 => None,
            number => Some(known("error_class", number, ErrorClass::from_u8)?),
        },
        error_code: event.error_code,
        task_type: event.task_type,
        pool: event.pool,
        tier: known("tier", event.tier, Tier::from_u8)?,
        batch_id: match event.batch_id.is_empty() {
            true => None,
            false => Some(id("batch_id", &event.batch_id)?),
        },
        retry_count: u16::try_from(event.retry_count).unwrap_or(u16::MAX),
        max_retry: 0,
        wait_ms: event.wait_ms,
        run_ms: event.run_ms,
        delay_ms: 0,
        sampled: event.sampled != 0,
        schedule_id: event.schedule_id,
    })
}

fn id_bytes(id: Option<TaskId>) -> Bytes {
    id.map_or_else(Bytes::new, |id| Bytes::copy_from_slice(id.as_bytes()))
}

fn id(field: &'static str, bytes: &[u8]) -> Result<TaskId, EventError> {
    TaskId::from_slice(bytes).map_err(|error| EventError {
        field,
        value: error.to_string(),
    })
}

fn status(number: u32) -> Result<Status, EventError> {
    known("status", number, Status::from_u8)
}

fn known<T>(field: &'static str, number: u32, read: impl Fn(u8) -> Option<T>) -> Result<T, EventError> {
    let value = u8::try_from(number).ok().and_then(read);
    value.ok_or_else(|| EventError {
        field,
        value: number.to_string(),
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A claim of attempt 2, with every field set that the wire carries.
    pub(crate) fn claimed() -> TaskEvent {
        TaskEvent {
            task_id: TaskId::new(1_700_000_000_000, [7; 10]),
            version: 5,
            from: Some(Status::Retrying),
            to: Status::Running,
            at: 1_700_000_000_123,
            attempt: 2,
            actor: "executor".into(),
            node: "n1".into(),
            reason: "r".into(),
            error_class: Some(ErrorClass::Transient),
            error_code: "http_503".into(),
            task_type: "room.notify".into(),
            pool: "default".into(),
            tier: Tier::High,
            batch_id: Some(TaskId::new(1_700_000_000_000, [8; 10])),
            retry_count: 1,
            max_retry: 0,
            wait_ms: 15,
            run_ms: 20,
            delay_ms: 0,
            sampled: true,
            schedule_id: "s".into(),
        }
    }

    #[test]
    fn what_goes_out_comes_back() {
        let born = TaskEvent {
            from: None,
            to: Status::Pending,
            batch_id: None,
            error_class: None,
            ..claimed()
        };
        for event in [claimed(), born] {
            assert_eq!(event_from_wire(event_to_wire(event.clone())).unwrap(), event);
        }
    }

    #[test]
    fn numbers_that_are_none_of_ours_are_refused() {
        let wire = || event_to_wire(claimed());
        for bad in [
            proto::TaskEvent { to: 0, ..wire() },
            proto::TaskEvent { from: 9, ..wire() },
            proto::TaskEvent { tier: 257, ..wire() },
            proto::TaskEvent {
                error_class: 5,
                ..wire()
            },
            proto::TaskEvent {
                task_id: Bytes::from_static(b"short"),
                ..wire()
            },
            proto::TaskEvent {
                batch_id: Bytes::from_static(b"short"),
                ..wire()
            },
        ] {
            assert!(event_from_wire(bad).is_err());
        }
    }
}
