//! The layer that writes what `tracing` records: one JSON line each, fields at the top level, or a line to read.

use std::{
    cell::Cell,
    fmt::{self, Write as _},
    io::Write as _,
};

use serde_json::{Map, Value};
use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{Layer, layer::Context};

use crate::{
    init::LogFormat,
    line_writer::LineWriter,
    mask::mask_secrets,
    time::{Instant, now_us},
};

/// Bytes kept of one field.
const FIELD_BYTES: usize = 4_096;

thread_local! {
    /// A line is built here, so that the steady state allocates nothing.
    static SCRATCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Where lines go, in which form, and from which node.
#[derive(Debug, Clone)]
pub(crate) struct Log {
    pub(crate) lines: LineWriter,
    pub(crate) format: LogFormat,
    pub(crate) node: String,
}

impl Log {
    /// Builds a line in this thread's scratch space and queues it.
    pub(crate) fn write(&self, build: impl FnOnce(&mut Vec<u8>)) {
        // Taken, not borrowed: a field that logs while it is shown finds an empty one, not a panic.
        let mut scratch = SCRATCH.take();
        scratch.clear();
        build(&mut scratch);
        self.lines.push(&scratch);
        SCRATCH.set(scratch);
    }
}

impl<S: Subscriber> Layer<S> for Log {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let (level, target) = (event.metadata().level(), event.metadata().target());
        self.write(|out| match self.format {
            LogFormat::Json => fields.write_json(*level, target, &self.node, out),
            LogFormat::Text => fields.write_text(*level, out),
        });
    }
}

/// The line that tells of lines that were dropped.
pub(crate) fn lost_line(format: LogFormat, node: &str, dropped: u64) -> Vec<u8> {
    let fields = Fields {
        message: "log lines dropped".into(),
        others: Map::from_iter([("dropped".to_owned(), Value::from(dropped))]),
    };
    let mut out = Vec::new();
    match format {
        LogFormat::Json => fields.write_json(Level::WARN, "log", node, &mut out),
        LogFormat::Text => fields.write_text(Level::WARN, &mut out),
    }
    out
}

#[derive(Default)]
struct Fields {
    message: String,
    others: Map<String, Value>,
}

impl Fields {
    fn put(&mut self, field: &Field, value: Value) {
        let name = match field.name() {
            // These are the line's own.
            name @ ("ts" | "level" | "msg" | "target") => format!("{name}_"),
            name => name.to_owned(),
        };
        self.others.insert(name, value);
    }

    fn put_text(&mut self, field: &Field, text: &str) {
        let masked = mask_secrets(&text[..text.floor_char_boundary(FIELD_BYTES)]);
        if field.name() == "message" {
            self.message = masked.into_owned();
        } else {
            self.put(field, Value::String(masked.into_owned()));
        }
    }

    fn write_json(mut self, level: Level, target: &str, node: &str, out: &mut Vec<u8>) {
        let mut line = Map::new();
        line.insert("ts".into(), Instant::Sortable(now_us()).to_string().into());
        line.insert("level".into(), word(level).into());
        line.insert("msg".into(), self.message.into());
        line.insert("target".into(), target.into());
        if !node.is_empty() && !self.others.contains_key("node") {
            line.insert("node".into(), node.into());
        }
        line.append(&mut self.others);
        // Writing to memory can't fail.
        let _ = serde_json::to_writer(&mut *out, &line);
        out.push(b'\n');
    }

    fn write_text(self, level: Level, out: &mut Vec<u8>) {
        let _ = write!(
            out,
            "{} {:<5} {}",
            Instant::Sortable(now_us()),
            word(level),
            self.message
        );
        for (name, value) in &self.others {
            let _ = write!(out, " {name}={value}");
        }
        out.push(b'\n');
    }
}

impl Visit for Fields {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value.into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put_text(field, value);
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        let mut text = value.to_string();
        let mut source = value.source();
        while let Some(cause) = source {
            let _ = write!(text, ": {cause}");
            source = cause.source();
        }
        self.put_text(field, &text);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put_text(field, &format!("{value:?}"));
    }
}

const fn word(level: Level) -> &'static str {
    match level {
        Level::ERROR => "error",
        Level::WARN => "warn",
        Level::INFO => "info",
        Level::DEBUG => "debug",
        Level::TRACE => "trace",
    }
}
