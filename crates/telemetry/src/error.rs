//! What can go wrong while telemetry starts. Afterwards nothing in it fails: it drops and counts.

use thiserror::Error as ThisError;

/// Why telemetry could not be started.
#[derive(Debug, ThisError)]
pub enum Error {
    /// The level is no word or directive that we know.
    #[error("log.level {0:?} is no level; write error, warn, info, debug or trace, or target=level pairs")]
    Level(String),
    /// The collector's address can't be used.
    #[error("telemetry.otlp_endpoint {0:?} is no address; write one such as http://127.0.0.1:4318")]
    Endpoint(String),
    /// The exporter refused its settings.
    #[error("the exporter of spans could not be built")]
    Exporter(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The system gave no thread.
    #[error("a thread for telemetry could not be started")]
    Thread(#[source] std::io::Error),
    /// Somebody else set up logging in this process.
    #[error("logging was already set up in this process")]
    Twice,
}
