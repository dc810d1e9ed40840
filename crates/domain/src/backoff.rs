//! How long to wait before the next attempt.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::duration;

/// Longest wait between two attempts, in milliseconds.
const CEILING_MS: i64 = 7 * 24 * 3_600_000;

/// The waits between attempts: an explicit list, of which the last repeats, or an exponential curve with a cap.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Backoff {
    /// Waits in order, such as `[30s, 60s, 300s]`.
    List(Vec<String>),
    /// `base * factor^n`, at most `cap`.
    Exponential {
        /// The first wait.
        base: String,
        /// By how much each next one grows; 2 if not said.
        #[serde(default = "two")]
        factor: u32,
        /// The longest wait.
        cap: String,
    },
}

const fn two() -> u32 {
    2
}

/// Why a backoff can't be used.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum BackoffError {
    /// A list without a wait.
    #[error("backoff is empty; give at least one wait, such as [30s]")]
    Empty,
    /// A wait that is no duration.
    #[error("backoff: {0}")]
    Duration(String),
    /// A curve that falls.
    #[error("backoff.factor is 0; give 1 or more")]
    Factor,
}

impl Default for Backoff {
    fn default() -> Self {
        Self::List(vec!["30s".into(), "60s".into(), "300s".into()])
    }
}

impl Backoff {
    /// Checks every wait.
    ///
    /// # Errors
    /// What is wrong with it, and what would be right.
    pub fn check(&self) -> Result<(), BackoffError> {
        let texts = match self {
            Self::List(waits) if waits.is_empty() => return Err(BackoffError::Empty),
            Self::List(waits) => waits.iter().collect::<Vec<_>>(),
            Self::Exponential { factor: 0, .. } => return Err(BackoffError::Factor),
            Self::Exponential { base, cap, .. } => vec![base, cap],
        };
        texts
            .into_iter()
            .try_for_each(|text| duration::parse_ms(text).map(drop).map_err(BackoffError::Duration))
    }

    /// Milliseconds to wait before retry number `retry` (from 1), with jitter of ±10 % by `random`.
    #[must_use]
    pub fn delay_ms(&self, retry: u16, random: u16) -> i64 {
        let nth = usize::from(retry.saturating_sub(1));
        let base = match self {
            Self::List(waits) => waits
                .get(nth)
                .or(waits.last())
                .and_then(|wait| duration::parse_ms(wait).ok())
                .unwrap_or(30_000),
            Self::Exponential { base, factor, cap } => {
                let base = duration::parse_ms(base).unwrap_or(30_000);
                let cap = duration::parse_ms(cap).unwrap_or(CEILING_MS);
                let grown = i64::from(*factor).checked_pow(u32::try_from(nth).unwrap_or(u32::MAX));
                grown
                    .and_then(|grown| base.checked_mul(grown))
                    .unwrap_or(cap)
                    .min(cap)
            }
        };
        let base = base.min(CEILING_MS);
        base - base / 10 + base / 5 * i64::from(random) / i64::from(u16::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_goes_on_with_its_last_wait() {
        let list = Backoff::List(vec!["1s".into(), "5s".into()]);
        for (retry, expected) in [(1, 1_000), (2, 5_000), (3, 5_000), (900, 5_000)] {
            let half = list.delay_ms(retry, u16::MAX / 2);
            assert!((half - expected).abs() <= 1, "{half}");
            assert!(list.delay_ms(retry, 0) >= expected * 9 / 10);
            assert!(list.delay_ms(retry, u16::MAX) <= expected * 11 / 10);
        }
    }

    #[test]
    fn a_curve_stops_at_its_cap() {
        let curve = Backoff::Exponential {
            base: "1s".into(),
            factor: 2,
            cap: "10s".into(),
        };
        assert!((curve.delay_ms(3, u16::MAX / 2) - 4_000).abs() <= 1);
        assert!((curve.delay_ms(60_000, u16::MAX / 2) - 10_000).abs() <= 1);
    }

    #[test]
    fn a_bad_wait_is_named() {
        assert_eq!(Backoff::List(vec![]).check(), Err(BackoffError::Empty));
        assert!(
            Backoff::List(vec!["soon".into()])
                .check()
                .unwrap_err()
                .to_string()
                .contains("soon")
        );
        assert_eq!(Backoff::default().check(), Ok(()));
    }
}
