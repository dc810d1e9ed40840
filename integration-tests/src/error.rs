//! What can go wrong before a test has even begun.

use std::path::PathBuf;
use std::time::Duration;

/// A server, process or call of the harness that did not do what it was started for.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No such program in its variable, on `PATH` or in `.tools/bin`.
    #[error("{name} was not found: run script/bootstrap, or set {variable}")]
    NoProgram {
        /// The program's file name.
        name: String,
        /// The environment variable that may name it.
        variable: String,
    },
    /// A binary of this workspace that nobody built yet.
    #[error("{0} is not built: run cargo build --workspace --all-targets")]
    NotBuilt(PathBuf),
    /// The operating system refused something.
    #[error("{doing}")]
    Io {
        /// What was attempted.
        doing: String,
        /// Why it failed.
        #[source]
        source: std::io::Error,
    },
    /// No free port was found.
    #[error("no free port after {0} tries")]
    NoPort(usize),
    /// The process said nothing of what was waited for; the end of its output follows.
    #[error("{name} did not print {wanted:?} within {waited:?}; it printed:\n{tail}")]
    NoLine {
        /// The process.
        name: String,
        /// What was looked for.
        wanted: String,
        /// How long it was waited for.
        waited: Duration,
        /// The last lines of its output.
        tail: String,
    },
    /// The process still runs.
    #[error("{name} did not exit within {waited:?}")]
    StillRunning {
        /// The process.
        name: String,
        /// How long it was waited for.
        waited: Duration,
    },
    /// A Redis server answered with an error, or with something else than was asked for.
    #[error("{command} was answered with {reply}")]
    Refused {
        /// The command as it was sent.
        command: String,
        /// The answer.
        reply: String,
    },
    /// An HTTP call that got no answer.
    #[error("{call} got no answer")]
    Http {
        /// Method and address.
        call: String,
        /// Why.
        #[source]
        source: reqwest::Error,
    },
}

/// The harness's result.
pub type Result<T> = std::result::Result<T, Error>;

/// Names what was attempted when the operating system says no.
pub(crate) fn io(doing: impl Into<String>) -> impl FnOnce(std::io::Error) -> Error {
    let doing = doing.into();
    move |source| Error::Io { doing, source }
}
