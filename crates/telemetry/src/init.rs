//! Starts telemetry, once a process, and holds what the whole process shares.

use std::{io, sync::OnceLock};

use tracing_subscriber::{EnvFilter, Registry, layer::SubscriberExt, reload};

use crate::{
    error::Error,
    export::Spans,
    line_writer::LineWriter,
    record::{Log, lost_line},
    span::TaskSpan,
    stage_line::StageLine,
    watched::Entered,
};

/// The target under which stage lines can be switched: `info,gengfu::task=off`.
const TASK_TARGET: &str = "gengfu::task";
/// Libraries that would repeat what our services say once.
const QUIET: &str = "async_nats=error,redis=error,hyper=warn,reqwest=warn,opentelemetry=error";

const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

static SHARED: OnceLock<Shared> = OnceLock::new();

struct Shared {
    log: Log,
    spans: Option<Spans>,
    filter: reload::Handle<EnvFilter, Registry>,
}

/// How a log line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// One JSON object a line, for machines.
    #[default]
    Json,
    /// For the eyes, on a laptop.
    Text,
}

/// What telemetry needs to know.
#[derive(Debug, Clone, Default)]
pub struct TelemetryConfig {
    /// `error`, `warn`, `info`, `debug` or `trace`, or directives such as `info,gengfu_executor=debug`.
    pub level: String,
    /// How a log line looks.
    pub format: LogFormat,
    /// The base address of a collector, `http://host:4318`; empty for no traces.
    pub otlp_endpoint: String,
    /// The name of the service in traces.
    pub service_name: String,
    /// The node, in every line and every trace.
    pub node: String,
}

/// Ends telemetry when dropped: what waits is written and sent, for a few seconds at most.
#[derive(Debug)]
#[must_use = "dropping the guard ends telemetry"]
pub struct Guard(());

impl Drop for Guard {
    fn drop(&mut self) {
        let Some(shared) = SHARED.get() else { return };
        shared.spans.iter().for_each(Spans::stop);
        shared.log.lines.flush();
    }
}

/// Sets up log and traces for the whole process. Lines go to standard error, for standard output is for answers.
///
/// # Errors
/// A bad level or endpoint, no thread, or a second call.
pub fn init(config: &TelemetryConfig) -> Result<Guard, Error> {
    let filter = filter(&config.level)?;
    let (format, node) = (config.format, config.node.clone());
    let lines = LineWriter::start(io::stderr(), move |dropped| lost_line(format, &node, dropped))?;
    let log = Log {
        lines,
        format,
        node: config.node.clone(),
    };
    let spans = match config.otlp_endpoint.as_str() {
        "" => None,
        endpoint => Some(Spans::start(endpoint, &config.service_name, &config.node)?),
    };
    let (filter, handle) = reload::Layer::new(filter);
    let shared = Shared {
        log: log.clone(),
        spans,
        filter: handle,
    };
    SHARED.set(shared).map_err(|_| Error::Twice)?;
    let subscriber = Registry::default().with(filter).with(log).with(Entered);
    tracing::subscriber::set_global_default(subscriber).map_err(|_| Error::Twice)?;
    log_panics();
    Ok(Guard(()))
}

/// Changes the level of a running process.
///
/// # Errors
/// When it is no level.
pub fn set_level(level: &str) -> Result<(), Error> {
    let filter = filter(level)?;
    if let Some(shared) = SHARED.get() {
        // It fails only where the subscriber is gone, and with it every reader of the level.
        let _ = shared.filter.reload(filter);
    }
    Ok(())
}

/// Writes the line of a transition. Never waits; does nothing before [`init`].
pub fn log_stage(line: &StageLine<'_>) {
    if !tracing::enabled!(target: TASK_TARGET, tracing::Level::INFO) {
        return;
    }
    if let Some(Shared { log, .. }) = SHARED.get() {
        log.write(|out| match log.format {
            LogFormat::Json => line.write_json(&log.node, out),
            LogFormat::Text => line.write_text(out),
        });
    }
}

/// Hands the span of a finished stage to the exporter, if traces are on. Never waits.
pub fn record_span(span: TaskSpan) {
    if let Some(spans) = spans() {
        spans.record(span);
    }
}

/// Whether spans go anywhere, so that nobody builds them in vain.
#[must_use]
pub fn traces_on() -> bool {
    spans().is_some()
}

/// The exporter of this process, if traces are on.
#[must_use]
pub fn spans() -> Option<&'static Spans> {
    SHARED.get()?.spans.as_ref()
}

/// Waits until the log is written, for a process that is about to abort; 2 s at most.
pub fn flush_logs() {
    if let Some(shared) = SHARED.get() {
        shared.log.lines.flush();
    }
}

pub(crate) fn dropped_lines() -> u64 {
    SHARED.get().map_or(0, |shared| shared.log.lines.dropped())
}

pub(crate) fn dropped_spans() -> u64 {
    spans().map_or(0, Spans::dropped)
}

fn filter(level: &str) -> Result<EnvFilter, Error> {
    let refuse = || Error::Level(level.to_owned());
    let is_level = |word: &str| LEVELS.contains(&word);
    // The filter itself would take any word for the name of a target.
    let known = level.split(',').all(|part| match part.split_once('=') {
        Some((target, word)) => !target.is_empty() && is_level(word),
        None => is_level(part),
    });
    if !known {
        return Err(refuse());
    }
    // Later directives win where they name the same target.
    EnvFilter::try_new(format!("{QUIET},{level}")).map_err(|_| refuse())
}

/// Panics become log records as everything else; the backtrace is the business of who catches them.
fn log_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let text = panic.payload_as_str().unwrap_or("no message");
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(panic = text, place, "panic");
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_a_word_that_we_know() {
        for level in [
            "error",
            "warn",
            "info",
            "debug",
            "trace",
            "off",
            "info,gengfu_executor=debug",
        ] {
            assert!(filter(level).is_ok(), "{level}");
        }
        for level in ["", "loud", "3", "info,", "x=", "=info", "info,gengfu=loud"] {
            let error = filter(level).unwrap_err().to_string();
            assert!(error.contains("log.level") && error.contains("debug"), "{error}");
        }
    }
}
