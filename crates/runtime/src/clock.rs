//! This host's clock. It is for showing and for spans only: no decision about leases or due times uses it (I11).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Milliseconds since the epoch.
#[must_use]
pub fn now_ms() -> i64 {
    i64::try_from(since_epoch().as_millis()).unwrap_or(i64::MAX)
}

/// Microseconds since the epoch.
#[must_use]
pub fn now_us() -> i64 {
    i64::try_from(since_epoch().as_micros()).unwrap_or(i64::MAX)
}

fn since_epoch() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
