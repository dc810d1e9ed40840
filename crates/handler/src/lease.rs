//! How long a run may count on its lease, by a clock that only moves forward on this host.
//!
//! The store decides whether a lease has ended (I11). Here stands the instant up to which it certainly has not: the
//! executor learned at a heartbeat that the lease was renewed, and counts from before it asked.

use tokio::{sync::watch, time::Instant};

/// The executor's end: it says how far the lease reaches.
#[derive(Debug)]
pub struct LeaseKeeper(watch::Sender<Instant>);

impl LeaseKeeper {
    /// A keeper of a lease that certainly lasts until `until`, and what a run sees of it.
    #[must_use]
    pub fn new(until: Instant) -> (Self, LeaseTerm) {
        let (sender, receiver) = watch::channel(until);
        (Self(sender), LeaseTerm(Some(receiver)))
    }

    /// It now lasts until `until`. A term that is over stays over: the run may have been ended for it already.
    pub fn extend(&self, until: Instant) {
        self.0.send_if_modified(|current| {
            let later = *current > Instant::now() && until > *current;
            if later {
                *current = until;
            }
            later
        });
    }
}

/// The run's end of a lease; cheap to clone.
#[derive(Debug, Clone)]
pub struct LeaseTerm(Option<watch::Receiver<Instant>>);

impl LeaseTerm {
    /// A term without an end.
    #[must_use]
    pub const fn endless() -> Self {
        Self(None)
    }

    /// Until when the lease certainly lasts, as far as is known now; none where it has no end.
    #[must_use]
    pub fn until(&self) -> Option<Instant> {
        self.0.as_ref().map(|receiver| *receiver.borrow())
    }

    /// Waits until the lease was renewed.
    pub async fn renewed(&mut self) {
        if let Some(receiver) = &mut self.0
            && receiver.changed().await.is_ok()
        {
            return;
        }
        std::future::pending().await
    }

    /// Waits until the term is over without having been renewed: another executor may then run the task.
    pub async fn over(&self) {
        let Some(mut receiver) = self.0.clone() else {
            return std::future::pending().await;
        };
        loop {
            let until = *receiver.borrow_and_update();
            // Looked at first: a process that was stopped for a while must not do a thing before it notices.
            if until <= Instant::now() {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep_until(until) => {}
                Ok(()) = receiver.changed() => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn a_term_is_over_once_it_is_not_renewed() {
        let began = Instant::now();
        let (keeper, term) = LeaseKeeper::new(began + 2 * SECOND);
        let renewing = async {
            tokio::time::advance(SECOND).await;
            keeper.extend(began + 3 * SECOND);
            keeper.extend(began + 2 * SECOND);
        };
        tokio::join!(term.over(), renewing);
        assert_eq!(began.elapsed(), 3 * SECOND, "renewed once, and never shortened");
    }

    #[tokio::test(start_paused = true)]
    async fn a_term_that_is_over_stays_over() {
        let (keeper, term) = LeaseKeeper::new(Instant::now() + SECOND);
        tokio::time::advance(SECOND).await;
        keeper.extend(Instant::now() + SECOND);
        assert_eq!(term.until(), Some(Instant::now()));
        term.over().await;
    }

    #[tokio::test(start_paused = true)]
    async fn what_has_no_lease_is_never_over() {
        let hour = 3_600 * SECOND;
        assert!(
            tokio::time::timeout(hour, LeaseTerm::endless().over())
                .await
                .is_err()
        );
    }
}
