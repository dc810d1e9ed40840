//! The clock of a model: the host's, or one that a test sets.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use domain::Millis;

/// A clock in milliseconds. Copies share it.
#[derive(Debug, Clone)]
pub struct Clock {
    real: bool,
    millis: Arc<AtomicI64>,
}

impl Clock {
    /// The host's clock; [`Self::advance`] adds to it.
    #[must_use]
    pub fn real() -> Self {
        Self {
            real: true,
            millis: Arc::default(),
        }
    }

    /// A clock that stands at `millis` until it is moved.
    #[must_use]
    pub fn standing(millis: Millis) -> Self {
        Self {
            real: false,
            millis: Arc::new(AtomicI64::new(millis)),
        }
    }

    /// Moves it by `ms`. A negative number plays a host whose clock is behind after a failover.
    pub fn advance(&self, ms: i64) {
        self.millis.fetch_add(ms, Ordering::Relaxed);
    }

    /// Milliseconds since the epoch.
    #[must_use]
    pub fn now(&self) -> Millis {
        let moved = self.millis.load(Ordering::Relaxed);
        if !self.real {
            return moved;
        }
        let host = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        moved + Millis::try_from(host.as_millis()).unwrap_or(Millis::MAX / 2)
    }
}
