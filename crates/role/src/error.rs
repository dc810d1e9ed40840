//! Why a process of a role ends before it is asked to.

use std::error::Error as StdError;

/// What can't get better by waiting: a person has to mend it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system gives no handler for a signal.
    #[error("signals can't be heard")]
    Signals(#[source] std::io::Error),
    /// The address can't be used.
    #[error(transparent)]
    Listen(#[from] runtime::ServeError),
    /// The address of NATS is none.
    #[error(transparent)]
    Bus(#[from] messaging::Error),
    /// The store is set up wrongly.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// What the role itself says.
    #[error(transparent)]
    Role(Box<dyn StdError + Send + Sync>),
}

/// The error and its causes, as one sentence.
#[must_use]
pub fn chain(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}
