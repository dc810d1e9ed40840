//! The waits of a loop that tries for ever: they double up to a cap, with jitter, so that a fleet whose server comes
//! back doesn't knock all at once.

use std::time::Duration;

/// The state of one such loop.
#[derive(Debug, Clone)]
pub struct Backoff {
    base: Duration,
    cap: Duration,
    next: Duration,
}

impl Default for Backoff {
    /// From 100 ms up to 5 s.
    fn default() -> Self {
        Self::new(Duration::from_millis(100), Duration::from_secs(5))
    }
}

impl Backoff {
    /// Waits from `base` on, doubled each time, at most `cap`.
    #[must_use]
    pub const fn new(base: Duration, cap: Duration) -> Self {
        Self {
            base,
            cap,
            next: base,
        }
    }

    /// The next wait: between half of the current step and all of it.
    pub fn next_wait(&mut self) -> Duration {
        let step = self.next.min(self.cap);
        self.next = self.next.saturating_mul(2).min(self.cap);
        let mut random = [0; 2];
        // Without randomness the waits are merely alike.
        let _ = getrandom::fill(&mut random);
        step / 2 + step / 2 * u32::from(u16::from_be_bytes(random)) / u32::from(u16::MAX)
    }

    /// Begins anew, after a success.
    pub const fn reset(&mut self) {
        self.next = self.base;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_cap_for_ever() {
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(1));
        for step in [100, 200, 400, 800, 1_000, 1_000] {
            let wait = backoff.next_wait().as_millis();
            assert!((step / 2..=step).contains(&wait), "{wait} of {step}");
        }
        assert!((0..10_000).all(|_| backoff.next_wait() <= Duration::from_secs(1)));
        backoff.reset();
        assert!(backoff.next_wait() <= Duration::from_millis(100));
    }

    #[test]
    fn two_loops_do_not_walk_in_step() {
        let (mut one, mut two) = (Backoff::default(), Backoff::default());
        let waits = |backoff: &mut Backoff| (0..20).map(|_| backoff.next_wait()).collect::<Vec<_>>();
        assert_ne!(waits(&mut one), waits(&mut two));
    }
}
