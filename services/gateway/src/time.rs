//! Instants and durations as the API writes and reads them.

use std::fmt;

use domain::{Millis, duration};
use jiff::Timestamp;
use serde::{Serialize, Serializer};

/// An instant in milliseconds since the epoch: UTC with `Z`, whole seconds without a fraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Instant(Millis);

impl Instant {
    /// An instant, whatever it is.
    pub(crate) const fn of(at: Millis) -> Self {
        Self(at)
    }

    /// 0 is never.
    pub(crate) fn some(at: Millis) -> Option<Self> {
        (at != 0).then_some(Self(at))
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Timestamp::from_millisecond(self.0)
            .unwrap_or(Timestamp::UNIX_EPOCH)
            .fmt(f)
    }
}

impl Serialize for Instant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Reads an RFC 3339 instant with its offset.
///
/// # Errors
/// What would be right.
pub(crate) fn instant(text: &str) -> Result<Millis, String> {
    text.parse::<Timestamp>()
        .map(Timestamp::as_millisecond)
        .map_err(|_| {
            format!(
                "{:?} is no instant with an offset; write 2026-12-01T08:00:00+08:00",
                shown(text)
            )
        })
}

/// Reads an instant, a day (from its midnight in UTC), or how long ago: `24h`.
///
/// # Errors
/// What would be right.
pub(crate) fn moment(text: &str, now: Millis) -> Result<Millis, String> {
    if let Ok(ago) = duration::parse_ms(text) {
        return Ok(now - ago);
    }
    let day = format!("{text}T00:00:00Z");
    let whole = if text.len() == 10 { day.as_str() } else { text };
    instant(whole).map_err(|error| format!("{error}, or how long ago: 24h"))
}

fn shown(text: &str) -> &str {
    &text[..text.floor_char_boundary(60)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_utc_without_a_needless_fraction() {
        let text = |ms| Instant::some(ms).map(|at| at.to_string());
        assert_eq!(text(0), None);
        assert_eq!(text(1_735_689_600_000).as_deref(), Some("2025-01-01T00:00:00Z"));
        assert_eq!(
            text(1_735_689_600_250).as_deref(),
            Some("2025-01-01T00:00:00.25Z")
        );
    }

    #[test]
    fn instants_need_an_offset() {
        assert_eq!(instant("2025-01-01T08:00:00+08:00"), Ok(1_735_689_600_000));
        for text in ["2025-01-01T08:00:00", "tomorrow", "", "1735689600000"] {
            assert!(instant(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_moment_may_be_a_day_or_how_long_ago() {
        assert_eq!(moment("2025-01-01", 5), Ok(1_735_689_600_000));
        assert_eq!(moment("1h", 4_000_000), Ok(400_000));
        assert!(moment("soon", 0).unwrap_err().contains("24h"));
    }
}
