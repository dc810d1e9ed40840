//! What a service says about a stage that it finished: one span of a task's trace.

use std::{
    borrow::Cow,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use domain::TaskId;
use opentelemetry::{
    InstrumentationScope, KeyValue,
    trace::{Link, SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState},
};
use opentelemetry_sdk::trace::{SpanData, SpanLinks};

use crate::trace::{Stage, TraceParent, parent_span_id, span_id};

/// Longest text kept of an attribute or of an error, in bytes.
const TEXT_BYTES: usize = 1_024;

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A text, cut after 1 KiB.
    Text(Cow<'static, str>),
    /// A whole number.
    Int(i64),
    /// A fraction.
    Float(f64),
    /// Yes or no.
    Bool(bool),
}

impl From<&'static str> for Value {
    fn from(text: &'static str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::Int(i64::from(number))
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Float(number)
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self::Bool(flag)
    }
}

/// A stage that is over. Only for tasks that are sampled; who asks knows that from the task or its envelope.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskSpan {
    /// The task, which is also the trace.
    pub task: TaskId,
    /// The stage, which gives name, id and parent.
    pub stage: Stage,
    /// The attempt, from 1; 0 before the first dispatch.
    pub attempt: u32,
    /// Microseconds since the epoch.
    pub start_us: i64,
    /// Microseconds since the epoch; not before the start.
    pub end_us: i64,
    /// A name other than the stage's, for a handler's own spans.
    pub name: Option<Cow<'static, str>>,
    /// What is worth knowing about it. No secrets, no payloads.
    pub attributes: Vec<(&'static str, Value)>,
    /// The error that ended it.
    pub error: Option<String>,
    /// The caller's own trace.
    pub link: Option<TraceParent>,
}

impl TaskSpan {
    /// A span without attributes, error or link.
    #[must_use]
    pub const fn new(task: TaskId, stage: Stage, attempt: u32, start_us: i64, end_us: i64) -> Self {
        let (name, error, link) = (None, None, None);
        Self {
            task,
            stage,
            attempt,
            start_us,
            end_us,
            name,
            attributes: Vec::new(),
            error,
            link,
        }
    }

    /// Adds an attribute.
    #[must_use]
    pub fn with(mut self, key: &'static str, value: impl Into<Value>) -> Self {
        self.attributes.push((key, value.into()));
        self
    }

    /// Marks it as failed.
    #[must_use]
    pub fn failed(mut self, error: impl Into<String>) -> Self {
        self.error = Some(error.into());
        self
    }

    /// Joins the caller's own trace.
    #[must_use]
    pub const fn linked(mut self, link: Option<TraceParent>) -> Self {
        self.link = link;
        self
    }

    pub(crate) fn into_data(self, scope: &InstrumentationScope) -> SpanData {
        let trace_id = self.task.trace_id();
        let own = span_id(self.task, self.stage, self.attempt);
        let parent = parent_span_id(self.task, self.stage, self.attempt);
        let mut links = SpanLinks::default();
        links.links.extend(
            self.link
                .map(|link| Link::new(context(link.trace_id, link.span_id, link.sampled), Vec::new(), 0)),
        );
        let id = KeyValue::new("gengfu.task_id", self.task.to_string());
        let attempt = KeyValue::new("gengfu.attempt", i64::from(self.attempt));
        let told = self
            .attributes
            .into_iter()
            .map(|(key, value)| KeyValue::new(key, plain(value)));
        SpanData {
            span_context: context(trace_id, own, true),
            parent_span_id: parent.map_or(SpanId::INVALID, |id| SpanId::from_bytes(id.to_be_bytes())),
            parent_span_is_remote: true,
            span_kind: kind(self.stage),
            name: self.name.unwrap_or(Cow::Borrowed(self.stage.as_str())),
            start_time: at(self.start_us),
            end_time: at(self.end_us.max(self.start_us)),
            attributes: [id, attempt].into_iter().chain(told).collect(),
            dropped_attributes_count: 0,
            events: Default::default(),
            links,
            status: match self.error {
                Some(error) => Status::error(clip(error.into()).into_owned()),
                None => Status::Unset,
            },
            instrumentation_scope: scope.clone(),
        }
    }
}

fn context(trace_id: u128, span_id: u64, sampled: bool) -> SpanContext {
    let flags = if sampled {
        TraceFlags::SAMPLED
    } else {
        TraceFlags::default()
    };
    let trace_id = TraceId::from_bytes(trace_id.to_be_bytes());
    SpanContext::new(
        trace_id,
        SpanId::from_bytes(span_id.to_be_bytes()),
        flags,
        true,
        TraceState::default(),
    )
}

const fn kind(stage: Stage) -> SpanKind {
    match stage {
        Stage::Submit | Stage::Dispatch => SpanKind::Producer,
        Stage::Claim | Stage::Record => SpanKind::Consumer,
        Stage::Trigger | Stage::Admit | Stage::Run | Stage::Handler(_) => SpanKind::Internal,
    }
}

fn at(us: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_micros(u64::try_from(us).unwrap_or(0))
}

fn plain(value: Value) -> opentelemetry::Value {
    match value {
        Value::Text(text) => clip(text).into_owned().into(),
        Value::Int(number) => number.into(),
        Value::Float(number) => number.into(),
        Value::Bool(flag) => flag.into(),
    }
}

fn clip(text: Cow<'static, str>) -> Cow<'static, str> {
    let masked = crate::mask_secrets(&text).into_owned();
    let end = masked.floor_char_boundary(TEXT_BYTES);
    if end == masked.len() && masked == text {
        text
    } else {
        masked[..end].to_owned().into()
    }
}
