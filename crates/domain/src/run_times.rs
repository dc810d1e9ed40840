//! How long the runs of a type take: a sketch of bounded size that answers with its 99th percentile.

use std::collections::BTreeMap;

use crate::Millis;

/// Runs from which on a percentile says something.
pub const RUN_TIMES_MIN: u64 = 100;
/// A run is stuck that takes so many times as long as the type's 99th percentile,
pub const STUCK_TIMES: i64 = 3;
/// and at least this, in milliseconds.
pub const STUCK_MIN_MS: Millis = 10_000;
/// The last bucket: everything from about 12 days on.
const BUCKET_MAX: u8 = 120;

/// Runs counted in buckets of a quarter of an octave each, so that a percentile is at most a fifth too high. At most 121
/// numbers, however many runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunTimes(BTreeMap<u8, u64>);

impl RunTimes {
    /// The bucket of a run of so many milliseconds.
    #[must_use]
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss
    )]
    pub fn bucket(run_ms: Millis) -> u8 {
        if run_ms <= 1 {
            return 0;
        }
        // Up to 2^(bucket / 4) milliseconds, this bound among them.
        let quarters = ((run_ms as f64).log2() * 4.0 - 1e-9).ceil();
        (quarters as u64).min(u64::from(BUCKET_MAX)) as u8
    }

    /// Adds runs to a bucket.
    pub fn add(&mut self, bucket: u8, runs: u64) {
        *self.0.entry(bucket.min(BUCKET_MAX)).or_default() += runs;
    }

    /// Adds the runs of another sketch.
    pub fn merge(&mut self, other: &Self) {
        for (bucket, runs) in &other.0 {
            self.add(*bucket, *runs);
        }
    }

    /// How many runs were counted.
    #[must_use]
    pub fn runs(&self) -> u64 {
        self.0.values().sum()
    }

    /// Milliseconds within which 99 of 100 runs ended, at most a fifth too high; none while there are fewer than
    /// [`RUN_TIMES_MIN`].
    #[must_use]
    #[allow(clippy::cast_possible_truncation)]
    pub fn p99_ms(&self) -> Option<Millis> {
        let runs = self.runs();
        if runs < RUN_TIMES_MIN {
            return None;
        }
        let mut left = runs - runs / 100;
        for (bucket, count) in &self.0 {
            if *count >= left {
                return Some((f64::from(*bucket) / 4.0).exp2().ceil() as Millis);
            }
            left -= count;
        }
        None
    }

    /// Milliseconds from which on a run of this type is stuck; none while too few runs are known.
    #[must_use]
    pub fn stuck_after_ms(&self) -> Option<Millis> {
        self.p99_ms().map(|p99| (p99 * STUCK_TIMES).max(STUCK_MIN_MS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(runs: impl IntoIterator<Item = Millis>) -> RunTimes {
        let mut times = RunTimes::default();
        runs.into_iter().for_each(|ms| times.add(RunTimes::bucket(ms), 1));
        times
    }

    #[test]
    fn the_percentile_is_never_too_low_and_at_most_a_fifth_too_high() {
        for scale in [1, 7, 100, 3_000, 86_400] {
            let times = of((1..=1_000).map(|n| n * scale));
            let (p99, exact) = (times.p99_ms().unwrap(), 990 * scale);
            assert!(p99 >= exact && p99 <= exact * 6 / 5 + 1, "{p99} for {exact}");
        }
    }

    #[test]
    fn few_runs_say_nothing_and_short_ones_are_never_stuck_soon() {
        assert_eq!(of(vec![5; 99]).p99_ms(), None);
        assert_eq!(of(vec![5; 100]).stuck_after_ms(), Some(STUCK_MIN_MS));
        assert_eq!(of(vec![8_192; 100]).stuck_after_ms(), Some(3 * 8_192));
        // One slow run in a hundred is usual.
        let mut mixed = vec![4; 99];
        mixed.push(60_000);
        assert_eq!(of(mixed).p99_ms(), Some(4));
    }

    #[test]
    fn any_time_has_a_bucket() {
        for ms in [i64::MIN, -1, 0, 1] {
            assert_eq!(RunTimes::bucket(ms), 0);
        }
        assert_eq!(RunTimes::bucket(2), 4);
        assert_eq!(RunTimes::bucket(i64::MAX), BUCKET_MAX);
        let mut last = 0;
        for ms in 0..100_000 {
            let bucket = RunTimes::bucket(ms);
            assert!(bucket >= last, "{ms}");
            last = bucket;
        }
    }
}
