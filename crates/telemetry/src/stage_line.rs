//! The line that each transition of a task leaves in the log (DESIGN section 9).

use domain::{ErrorClass, Millis, Status, TaskId, TimelineItem};
use serde::{
    Serialize,
    ser::{SerializeMap, Serializer},
};

use crate::{
    mask::{mask_secrets, summary},
    time::{Instant, now_us},
};

/// Bytes of an error that go into the log; the store keeps more.
const ERROR_BYTES: usize = 1_024;

/// What kind of transition a line tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LogStage {
    /// A run began.
    Begin,
    /// The task ended: `success`, `dead` or `cancelled`.
    End,
    /// An attempt failed or overran.
    Error,
    /// Another attempt will follow.
    Retry,
    /// Anything else: accepted, handed back, changed by a person.
    Update,
}

impl LogStage {
    /// The word in the log.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Begin => "begin",
            Self::End => "end",
            Self::Error => "error",
            Self::Retry => "retry",
            Self::Update => "update",
        }
    }

    /// The kind of a transition.
    #[must_use]
    pub const fn of(from: Option<Status>, to: Status) -> Self {
        match (from, to) {
            (_, Status::Running) => Self::Begin,
            (_, Status::Success | Status::Dead | Status::Cancelled) => Self::End,
            (_, Status::Failed | Status::Timeout) => Self::Error,
            (_, Status::Retrying) | (Some(Status::Timeout), Status::Pending) => Self::Retry,
            (_, Status::Pending) => Self::Update,
        }
    }
}

/// One transition of one task. Empty texts and `None` are left out of the line.
#[derive(Debug, Clone)]
pub struct StageLine<'a> {
    /// The kind.
    pub stage: LogStage,
    /// The task.
    pub task_id: TaskId,
    /// Its type.
    pub task_type: &'a str,
    /// The attempt, from 1; 0 before the first claim.
    pub attempt: u32,
    /// The status before.
    pub from: Option<Status>,
    /// The status after.
    pub to: Option<Status>,
    /// Who tells, if it is not this process's own node.
    pub node: &'a str,
    /// Milliseconds that the attempt ran.
    pub elapsed_ms: Option<i64>,
    /// Milliseconds that the task waited from ready to claim.
    pub wait_ms: Option<i64>,
    /// The task's version after the transition.
    pub version: u32,
    /// When it happened, by the store's clock.
    pub at: Millis,
    /// Who did it.
    pub actor: &'a str,
    /// Why.
    pub reason: &'a str,
    /// The class of the error.
    pub error_class: Option<ErrorClass>,
    /// Its short code.
    pub error_code: &'a str,
    /// Its message; cut after 1 KiB, secrets masked.
    pub error: &'a str,
    /// Retries spent.
    pub retry_count: Option<u16>,
    /// Retries allowed.
    pub max_retry: Option<u16>,
    /// Milliseconds until the next attempt.
    pub retry_in_ms: Option<i64>,
    /// The payload, of which the line gets a summary with secrets masked.
    pub input: Option<&'a [u8]>,
    /// The result, likewise.
    pub result: Option<&'a [u8]>,
}

impl<'a> StageLine<'a> {
    /// A line with only what every line has.
    #[must_use]
    pub const fn new(stage: LogStage, task_id: TaskId, task_type: &'a str) -> Self {
        Self {
            stage,
            task_id,
            task_type,
            attempt: 0,
            from: None,
            to: None,
            node: "",
            elapsed_ms: None,
            wait_ms: None,
            version: 0,
            at: 0,
            actor: "",
            reason: "",
            error_class: None,
            error_code: "",
            error: "",
            retry_count: None,
            max_retry: None,
            retry_in_ms: None,
            input: None,
            result: None,
        }
    }

    /// The line of a transition as the timeline has it.
    #[must_use]
    pub fn of(task_id: TaskId, task_type: &'a str, item: &'a TimelineItem) -> Self {
        Self {
            attempt: item.attempt,
            from: item.from,
            to: Some(item.to),
            node: &item.node,
            version: item.version,
            at: item.at,
            actor: &item.actor,
            reason: &item.reason,
            error_class: item.error_class,
            error_code: &item.error_code,
            ..Self::new(LogStage::of(item.from, item.to), task_id, task_type)
        }
    }

    /// Appends the line as JSON.
    pub(crate) fn write_json(&self, node: &str, out: &mut Vec<u8>) {
        let node = if self.node.is_empty() { node } else { self.node };
        // Writing to memory can't fail, and no value here refuses to be written.
        let _ = self.fields(node, &mut serde_json::Serializer::new(&mut *out));
        out.push(b'\n');
    }

    /// Appends the line as a person reads it.
    pub(crate) fn write_text(&self, out: &mut Vec<u8>) {
        use std::io::Write;
        let status = |status: Option<Status>| status.map_or("–", Status::as_str);
        let _ = write!(
            out,
            "{} info  task {} {} {} {}→{} attempt={}",
            Instant::Sortable(now_us()),
            self.stage.as_str(),
            self.task_id,
            self.task_type,
            status(self.from),
            status(self.to),
            self.attempt,
        );
        for (name, number) in [
            ("wait_ms", self.wait_ms),
            ("elapsed_ms", self.elapsed_ms),
            ("retry_in_ms", self.retry_in_ms),
        ] {
            let _ = number.map(|number| write!(out, " {name}={number}"));
        }
        for (name, text) in [
            ("code", self.error_code),
            ("reason", self.reason),
            ("error", &self.masked_error()),
        ] {
            let _ = (!text.is_empty()).then(|| write!(out, " {name}={text:?}"));
        }
        out.push(b'\n');
    }

    fn masked_error(&self) -> String {
        let head = &self.error[..self.error.floor_char_boundary(ERROR_BYTES)];
        mask_secrets(head).into_owned()
    }

    fn fields<S: Serializer>(&self, node: &str, serializer: S) -> Result<S::Ok, S::Error> {
        let mut line = Line(serializer.serialize_map(None)?);
        line.put("ts", &Instant::Sortable(now_us()))?;
        line.put("level", "info")?;
        line.put("msg", "task")?;
        line.put("stage", self.stage.as_str())?;
        line.put("task_id", &self.task_id)?;
        line.put("task_type", self.task_type)?;
        line.put("attempt", &self.attempt)?;
        line.some("from", self.from.map(Status::as_str))?;
        line.some("to", self.to.map(Status::as_str))?;
        line.put("node", node)?;
        line.some("elapsed_ms", self.elapsed_ms)?;
        line.some("wait_ms", self.wait_ms)?;
        line.some("version", (self.version > 0).then_some(self.version))?;
        line.some("at", (self.at > 0).then_some(Instant::Plain(self.at)))?;
        line.text("actor", self.actor)?;
        line.text("reason", self.reason)?;
        line.some("error_class", self.error_class.map(ErrorClass::as_str))?;
        line.text("error_code", self.error_code)?;
        if !self.error.is_empty() {
            line.put("error", &self.masked_error())?;
        }
        line.some("retry_count", self.retry_count)?;
        line.some("max_retry", self.max_retry)?;
        line.some("retry_in_ms", self.retry_in_ms)?;
        line.some("input_info", self.input.map(summary))?;
        line.some("result_info", self.result.map(summary))?;
        line.0.end()
    }
}

struct Line<M>(M);

impl<M: SerializeMap> Line<M> {
    fn put<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> Result<(), M::Error> {
        self.0.serialize_entry(key, value)
    }

    fn some<T: Serialize>(&mut self, key: &str, value: Option<T>) -> Result<(), M::Error> {
        value.map_or(Ok(()), |value| self.put(key, &value))
    }

    fn text(&mut self, key: &str, value: &str) -> Result<(), M::Error> {
        if value.is_empty() {
            Ok(())
        } else {
            self.put(key, value)
        }
    }
}
