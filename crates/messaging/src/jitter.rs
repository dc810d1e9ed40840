//! Delays between attempts: they double, and no two processes wait equally long.

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    time::Duration,
};

const FIRST_MS: u64 = 50;
const MOST_MS: u64 = 4_000;

/// How long to wait before the attempt with this number, from 1: at most 4 s, between half and all of the step.
pub(crate) fn delay(attempt: usize) -> Duration {
    let doublings = u32::try_from(attempt.saturating_sub(1))
        .unwrap_or(u32::MAX)
        .min(10);
    let step = (FIRST_MS << doublings).min(MOST_MS);
    Duration::from_millis(step / 2 + random() % (step / 2 + 1))
}

/// Random enough to spread attempts: the standard library seeds each hasher anew.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_to_their_limit_and_differ() {
        assert!(delay(1) <= Duration::from_millis(50));
        for attempt in [7, 8, 1_000, usize::MAX] {
            let waited = delay(attempt);
            assert!(waited >= Duration::from_millis(1_600) && waited <= Duration::from_secs(4));
        }
        let some: std::collections::HashSet<_> = (0..50).map(|_| delay(20)).collect();
        assert!(some.len() > 10);
    }
}
