//! Why a whole call failed.

use thiserror::Error;

/// A call that changed nothing, or whose answer is not known.
#[derive(Debug, Error)]
pub enum Error {
    /// The store can't be reached or gave no answer in time. Play the call again with the same nonce.
    #[error("the store does not answer")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Nothing new is admitted, and why: memory or an outbox is full.
    #[error("the store admits nothing new: {0}")]
    Full(String),
    /// The store is not one that this process may use, and why.
    #[error("the store can't be used: {0}")]
    Unusable(String),
    /// The store lost its data or was replaced, and how that shows. Nothing is done with it until it is restored.
    #[error("store_lost: {0}; run `gengfu restore`")]
    Lost(String),
    /// The store answered what it never should.
    #[error("the store answered nonsense: {0}")]
    Corrupt(String),
}

impl Error {
    /// Whether the same call may succeed later, and whoever depends on the store says meanwhile why it does not.
    #[must_use]
    pub const fn is_passing(&self) -> bool {
        matches!(self, Self::Unavailable(_) | Self::Full(_) | Self::Lost(_))
    }
}
