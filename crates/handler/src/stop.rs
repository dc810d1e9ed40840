//! How a run learns that it must end now.

use tokio::sync::watch;

/// Why a run must end before it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StopReason {
    /// A person or a policy cancelled the task.
    Cancelled,
    /// A person reset the task: it will be run anew.
    Reset,
    /// The run reached its `run_timeout`.
    TimedOut,
    /// The lease is gone: another executor may be running the task already.
    LeaseLost,
    /// The executor stops, and its grace is over; the task goes back.
    ShuttingDown,
}

/// The executor's end of a stop signal.
#[derive(Debug)]
pub struct Stopper(watch::Sender<Option<StopReason>>);

impl Stopper {
    /// A stopper, and the signal that it gives. Dropping the stopper gives no signal.
    #[must_use]
    pub fn new() -> (Self, StopSignal) {
        let (sender, receiver) = watch::channel(None);
        (Self(sender), StopSignal(Some(receiver)))
    }

    /// Tells the run to end. The first reason stands; stopping twice is fine.
    pub fn stop(&self, reason: StopReason) {
        self.0.send_if_modified(|current| match current {
            Some(_) => false,
            None => {
                *current = Some(reason);
                true
            }
        });
    }
}

/// The run's end of a stop signal; cheap to clone.
#[derive(Debug, Clone)]
pub struct StopSignal(Option<watch::Receiver<Option<StopReason>>>);

impl StopSignal {
    /// A signal that never comes.
    #[must_use]
    pub const fn never() -> Self {
        Self(None)
    }

    /// Why the run must end, if it must.
    #[must_use]
    pub fn reason(&self) -> Option<StopReason> {
        self.0.as_ref().and_then(|receiver| *receiver.borrow())
    }

    /// Waits until the run must end. From then on a handler has a short grace before its future is dropped.
    pub async fn requested(&self) -> StopReason {
        if let Some(mut receiver) = self.0.clone()
            && let Ok(reason) = receiver.wait_for(Option::is_some).await
            && let Some(reason) = *reason
        {
            return reason;
        }
        std::future::pending().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_first_reason_stands_and_reaches_every_clone() {
        let (stopper, signal) = Stopper::new();
        let waiting = tokio::spawn({
            let signal = signal.clone();
            async move { signal.requested().await }
        });
        assert_eq!(signal.reason(), None);
        stopper.stop(StopReason::TimedOut);
        stopper.stop(StopReason::Cancelled);
        assert_eq!(waiting.await.unwrap(), StopReason::TimedOut);
        assert_eq!(signal.reason(), Some(StopReason::TimedOut));
        assert_eq!(signal.requested().await, StopReason::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn a_dropped_stopper_is_no_signal() {
        let (stopper, signal) = Stopper::new();
        drop(stopper);
        for signal in [signal, StopSignal::never()] {
            let hour = std::time::Duration::from_secs(3_600);
            assert!(tokio::time::timeout(hour, signal.requested()).await.is_err());
        }
    }
}
