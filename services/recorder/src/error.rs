//! Why something could not be done now.

use std::time::Duration;

/// Limit of one call to the store; its client has its own, which is shorter.
const LIMIT: Duration = Duration::from_secs(6);

/// Why something could not be done now.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("a call to the store failed")]
    Store(#[from] store::Error),
    #[error("publishing failed")]
    Bus(#[from] messaging::Error),
    #[error("no answer from the store in time")]
    Late,
}

impl Error {
    /// Whether it passes by itself, and the watch of the dependency tells of it.
    pub(crate) const fn is_passing(&self) -> bool {
        match self {
            Self::Store(error) => error.is_passing(),
            Self::Bus(error) => error.is_retryable(),
            Self::Late => true,
        }
    }
}

/// The error and its sources, for one log line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        text = format!("{text}: {source}");
        next = source.source();
    }
    text
}

/// The answer of the store, unless it takes too long.
pub(crate) async fn in_time<T>(call: impl Future<Output = Result<T, store::Error>>) -> Result<T, Error> {
    match tokio::time::timeout(LIMIT, call).await {
        Ok(answer) => Ok(answer?),
        Err(_) => Err(Error::Late),
    }
}
