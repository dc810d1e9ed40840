//! Fixed intervals: the multiples of a duration, counted from the epoch or from a start.

use std::fmt;

/// The longest interval, in seconds: ten years.
pub const MAX_SECONDS: i64 = 3_653 * 86_400;

/// Why a duration is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Not numbers with units.
    #[error("{text:?} is no duration")]
    NoDuration {
        /// What stands there.
        text: String,
    },
    /// Not whole seconds, at least one.
    #[error("the interval {text:?} is not a whole number of seconds, at least one")]
    NotWholeSeconds {
        /// What stands there.
        text: String,
    },
    /// Longer than [`MAX_SECONDS`].
    #[error("the interval {text:?} is longer than ten years")]
    TooLong {
        /// What stands there.
        text: String,
    },
}

impl Error {
    /// What to write instead.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Error::NoDuration { .. } => "write 30s, 5m, 2h, 7d or several of them, as in 1h30m",
            Error::NotWholeSeconds { .. } => {
                "an interval is at least 1s, and schedules count in whole seconds"
            }
            Error::TooLong { .. } => "name the instants one by one",
        }
        .into()
    }
}

/// An interval and the instant from which it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Every {
    /// The interval.
    pub(crate) seconds: i64,
    /// Seconds since the epoch; no fire comes before it where it was set by a start.
    pub(crate) anchor: i64,
}

impl Every {
    /// Reads a duration such as `90s` or `1h30m`; the interval counts from the epoch.
    ///
    /// # Errors
    /// Where it is no duration of whole seconds, from one second to ten years.
    pub fn parse(text: &str) -> Result<Every, Error> {
        let ms = milliseconds(text.trim()).ok_or_else(|| Error::NoDuration { text: text.into() })?;
        if ms < 1_000 || ms % 1_000 != 0 {
            return Err(Error::NotWholeSeconds { text: text.into() });
        }
        if ms / 1_000 > MAX_SECONDS {
            return Err(Error::TooLong { text: text.into() });
        }
        Ok(Every {
            seconds: ms / 1_000,
            anchor: 0,
        })
    }

    /// The interval in seconds.
    #[must_use]
    pub const fn seconds(self) -> i64 {
        self.seconds
    }

    /// The first multiple from a second on.
    pub(crate) fn at_or_after(self, second: i64) -> i64 {
        let ahead = second - self.anchor;
        self.anchor
            + ahead.div_euclid(self.seconds) * self.seconds
            + if ahead.rem_euclid(self.seconds) == 0 {
                0
            } else {
                self.seconds
            }
    }
}

impl fmt::Display for Every {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.seconds;
        for (unit, seconds) in [("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)] {
            if rest >= seconds {
                write!(f, "{}{unit}", rest / seconds)?;
                rest %= seconds;
            }
        }
        Ok(())
    }
}

/// Milliseconds of numbers with units, the larger units first.
fn milliseconds(text: &str) -> Option<i64> {
    let (mut rest, mut total, mut smallest) = (text, 0_i64, i64::MAX);
    while !rest.is_empty() {
        let (number, tail) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit())?);
        let (unit, tail) = tail.split_at(tail.find(|c: char| c.is_ascii_digit()).unwrap_or(tail.len()));
        let scale = match unit {
            "d" => 86_400_000,
            "h" => 3_600_000,
            "m" => 60_000,
            "s" => 1_000,
            "ms" => 1,
            _ => return None,
        };
        if scale >= smallest {
            return None;
        }
        smallest = scale;
        total = total.checked_add(number.parse::<i64>().ok()?.checked_mul(scale)?)?;
        rest = tail;
    }
    (!text.is_empty()).then_some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_and_show() {
        for (text, seconds, shown) in [
            ("90s", 90, "1m30s"),
            ("1h30m", 5_400, "1h30m"),
            ("7d", 604_800, "7d"),
            ("2000ms", 2, "2s"),
        ] {
            let every = Every::parse(text).unwrap();
            assert_eq!(
                (every.seconds(), every.to_string().as_str()),
                (seconds, shown),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_interval_is_refused() {
        for text in [
            "",
            "90",
            "s",
            "-5s",
            "5 m",
            "30m1h",
            "1h1h",
            "1w",
            "0s",
            "500ms",
            "1s500ms",
            "4000d",
            "1.5h",
            "99999999999999999999s",
            "9999999999999999d",
        ] {
            let error = Every::parse(text).unwrap_err();
            assert!(!error.hint().is_empty(), "{text}");
        }
    }

    #[test]
    fn multiples_count_from_the_anchor() {
        let every = Every {
            seconds: 90,
            anchor: 20,
        };
        assert_eq!(
            [
                every.at_or_after(20),
                every.at_or_after(21),
                every.at_or_after(110)
            ],
            [20, 110, 110]
        );
        assert_eq!(
            Every {
                seconds: 90,
                anchor: 0
            }
            .at_or_after(-1),
            0
        );
        assert_eq!(
            Every {
                seconds: 90,
                anchor: 0
            }
            .at_or_after(-91),
            -90
        );
    }
}
