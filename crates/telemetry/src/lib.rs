//! Traces, metrics and the log format; the only user of opentelemetry.
