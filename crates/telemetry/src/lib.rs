//! Traces, metrics and the log format; the only user of opentelemetry.
//!
//! Three ways to see one task: [`log_stage`] writes a JSON line a stage, [`record_span`] a span of the trace whose
//! id is the task's id, and [`Metrics`] counts. None of them ever waits: what can't be kept up is dropped and counted.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod error;
mod export;
mod init;
mod line_writer;
mod mask;
mod metrics;
mod record;
mod span;
mod stage_line;
mod time;
mod trace;
mod watched;

pub use error::Error;
pub use export::Spans;
pub use init::{
    Guard, LogFormat, TelemetryConfig, flush_logs, init, log_stage, record_span, set_level, spans, traces_on,
};
pub use mask::{mask_secrets, summary};
pub use metrics::{METRICS_CONTENT_TYPE, Metrics};
pub use span::{TaskSpan, Value};
pub use stage_line::{LogStage, StageLine};
pub use trace::{
    Stage, TraceParent, TraceParentError, parent_span_id, parse_traceparent, sampled, span_id, traceparent,
};
pub use watched::{Watched, watched};
