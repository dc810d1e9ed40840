//! When the next schedules are due, as far as this process knows: it wakes for them, and need not ask until then.

use std::{collections::BTreeSet, time::Duration};

use domain::Millis;
use tokio::time::Instant;

/// Moments that are kept, the nearest; what lies beyond is found by the beat.
const KEPT_MAX: usize = 1_024;

/// The moments of one partition, by the store's clock.
#[derive(Debug, Default)]
pub(crate) struct Wakes {
    at: BTreeSet<Millis>,
    /// The store's clock, and when it showed that.
    clock: Option<(Millis, Instant)>,
}

impl Wakes {
    /// The store's clock just now.
    pub(crate) fn now(&mut self, now: Millis) {
        self.clock = Some((now, Instant::now()));
        self.at = self.at.split_off(&(now + 1));
    }

    /// Something is due then.
    pub(crate) fn add(&mut self, at: Millis) {
        self.at.insert(at);
        if self.at.len() > KEPT_MAX {
            self.at.pop_last();
        }
    }

    /// Until the first of them.
    pub(crate) fn next(&self) -> Option<Duration> {
        let (now, seen) = self.clock?;
        let wait = u64::try_from(self.at.first()? - now).unwrap_or(0);
        Some(Duration::from_millis(wait).saturating_sub(seen.elapsed()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_nearest_moment_to_come_is_waited_for() {
        let mut wakes = Wakes::default();
        assert_eq!(wakes.next(), None);
        wakes.now(1_000);
        [1_400, 1_500, 1_050].into_iter().for_each(|at| wakes.add(at));
        assert_eq!(wakes.next(), Some(Duration::from_millis(50)));
        tokio::time::advance(Duration::from_millis(30)).await;
        assert_eq!(wakes.next(), Some(Duration::from_millis(20)));
        wakes.now(1_050);
        assert_eq!(wakes.next(), Some(Duration::from_millis(350)));
        (0..2_000).for_each(|at| wakes.add(5_000 + at));
        assert_eq!(wakes.at.len(), KEPT_MAX);
    }
}
