//! Instants as the log shows them: RFC 3339 in UTC.

use std::{
    fmt,
    time::{SystemTime, UNIX_EPOCH},
};

use jiff::{
    Timestamp,
    fmt::{StdFmtWrite, temporal::DateTimePrinter},
};
use serde::{Serialize, Serializer};

/// An instant since the epoch.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Instant {
    /// In microseconds, always with six digits of a fraction: lines sort as texts, and what lies between two of them can
    /// be measured.
    Sortable(i64),
    /// In milliseconds; whole seconds without a fraction, as in the API.
    Plain(i64),
}

/// This host's clock; for showing only.
pub(crate) fn now_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SORTABLE: DateTimePrinter = DateTimePrinter::new().precision(Some(6));
        const PLAIN: DateTimePrinter = DateTimePrinter::new();
        let (printer, at) = match self {
            Self::Sortable(us) => (&SORTABLE, Timestamp::from_microsecond(*us)),
            Self::Plain(ms) => (&PLAIN, Timestamp::from_millisecond(*ms)),
        };
        let at = at.unwrap_or(Timestamp::UNIX_EPOCH);
        printer
            .print_timestamp(&at, StdFmtWrite(f))
            .map_err(|_| fmt::Error)
    }
}

impl Serialize for Instant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_read_as_rfc_3339() {
        assert_eq!(
            Instant::Sortable(1_735_689_600_000_020).to_string(),
            "2025-01-01T00:00:00.000020Z"
        );
        assert_eq!(
            Instant::Plain(1_735_689_600_000).to_string(),
            "2025-01-01T00:00:00Z"
        );
        assert_eq!(
            Instant::Plain(1_735_689_600_250).to_string(),
            "2025-01-01T00:00:00.25Z"
        );
        assert_eq!(Instant::Plain(i64::MAX).to_string(), "1970-01-01T00:00:00Z");
    }
}
