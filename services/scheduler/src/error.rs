//! Why a duty could not do its step.

/// Why a duty could not do its step.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("a call to the store failed")]
    Store(#[from] store::Error),
    #[error("publishing failed")]
    Bus(#[from] messaging::Error),
    #[error("no answer from the store in time")]
    Late,
    #[error("the system gives no random bytes")]
    Random(#[source] getrandom::Error),
}

impl Error {
    /// Whether it passes by itself, and the watch of the dependency tells of it.
    pub(crate) const fn is_passing(&self) -> bool {
        match self {
            Self::Store(error) => error.is_passing(),
            Self::Bus(error) => error.is_retryable(),
            Self::Late => true,
            Self::Random(_) => false,
        }
    }

    /// The sentence and those of its sources, for one log line.
    pub(crate) fn chain(&self) -> String {
        let mut text = self.to_string();
        let mut next = std::error::Error::source(self);
        while let Some(source) = next {
            text = format!("{text}: {source}");
            next = source.source();
        }
        text
    }
}
