//! The loop around every duty: step, wait, and never give up.

use std::{sync::Arc, time::Duration};

use runtime::Backoff;

use crate::{Town, error::Error};

/// When a duty wants to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// There is more to do.
    Now,
    /// After its interval.
    Later,
    /// After this, or after its interval where that is shorter.
    Within(Duration),
}

/// Something that is done again and again.
pub(crate) trait Duty: Send + 'static {
    /// Its name in the log.
    const NAME: &'static str;

    /// How long it rests when there is nothing more to do.
    fn every(&self, town: &Town) -> Duration;

    /// Does a bounded part of it.
    fn step(&mut self, town: &Town) -> impl Future<Output = Result<Next, Error>> + Send;
}

/// Does a duty until the shutdown. A step that began is ended: it has its own limits.
pub(crate) async fn beat<D: Duty>(mut duty: D, town: Arc<Town>) {
    // What expired is taken back within 2 s (I4), also when the store comes back after long.
    let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(1));
    let mut failing = false;
    loop {
        let result = duty.step(&town).await;
        log_change::<D>(&mut failing, result.as_ref().err());
        let wait = match result {
            Ok(next) => {
                backoff.reset();
                match next {
                    Next::Now => Duration::ZERO,
                    Next::Later => jittered(duty.every(&town)),
                    Next::Within(wait) => wait.min(jittered(duty.every(&town))),
                }
            }
            Err(_) => backoff.next_wait(),
        };
        let rested = town.shutdown.or_stop(async {
            tokio::task::yield_now().await;
            tokio::time::sleep(wait).await;
        });
        if rested.await.is_none() {
            return;
        }
    }
}

/// What passes by itself shows on `/readyz` and in the line of the dependency; only the rest is worth a line here.
fn log_change<D: Duty>(failing: &mut bool, error: Option<&Error>) {
    match error {
        Some(error) if error.is_passing() => {
            tracing::debug!(duty = D::NAME, error = error.chain(), "duty waits");
        }
        Some(error) if !*failing => {
            *failing = true;
            tracing::error!(duty = D::NAME, error = error.chain(), "duty fails");
        }
        None if *failing => {
            *failing = false;
            tracing::info!(duty = D::NAME, "duty works again");
        }
        Some(_) | None => {}
    }
}

/// Between 0.8 and 1.2 of the interval, so that partitions and replicas don't walk in step.
fn jittered(every: Duration) -> Duration {
    let mut random = [0];
    // Without randomness the waits are merely alike.
    let _ = getrandom::fill(&mut random);
    every.mul_f64(0.8 + 0.4 * f64::from(random[0]) / 255.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_stay_near_the_interval_and_differ() {
        let waits: Vec<_> = (0..50).map(|_| jittered(Duration::from_secs(1))).collect();
        assert!(waits.iter().all(|wait| (800..=1_200).contains(&wait.as_millis())));
        assert!(waits.iter().any(|wait| *wait != waits[0]));
    }
}
