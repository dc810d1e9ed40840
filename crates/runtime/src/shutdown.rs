//! The one signal that everything stops on.

use std::{io, sync::Arc};

use tokio::{
    signal::unix::{SignalKind, signal},
    sync::watch,
};

/// Says that it is time to stop. Clones share it; to trigger it twice is fine, and so is to drop it.
#[derive(Debug, Clone)]
pub struct Shutdown(Arc<watch::Sender<bool>>);

impl Default for Shutdown {
    fn default() -> Self {
        Self::new()
    }
}

impl Shutdown {
    /// One that only [`Shutdown::trigger`] triggers.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }

    /// One that SIGTERM and SIGINT trigger too. Further signals change nothing: the drain has its limit.
    ///
    /// # Errors
    /// When the system gives no handler for a signal.
    pub fn on_signals() -> io::Result<Self> {
        let shutdown = Self::new();
        let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        let triggered = shutdown.clone();
        tokio::spawn(async move {
            loop {
                let name = tokio::select! {
                    _ = term.recv() => "SIGTERM",
                    _ = int.recv() => "SIGINT",
                };
                if !triggered.is_triggered() {
                    tracing::info!(signal = name, "stopping");
                }
                triggered.trigger();
            }
        });
        Ok(shutdown)
    }

    /// Asks everything to stop.
    pub fn trigger(&self) {
        self.0.send_replace(true);
    }

    /// Whether it was triggered.
    #[must_use]
    pub fn is_triggered(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until it is triggered; at once if it already was.
    pub async fn wait(&self) {
        // It fails only when the sender is gone, and we hold it.
        let _ = self.0.subscribe().wait_for(|triggered| *triggered).await;
    }

    /// What the future gives, or `None` once it is time to stop.
    pub async fn or_stop<T>(&self, future: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            () = self.wait() => None,
            value = future => Some(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn every_clone_hears_it_before_and_after() {
        let shutdown = Shutdown::new();
        let waiting = tokio::spawn({
            let shutdown = shutdown.clone();
            async move { shutdown.wait().await }
        });
        assert_eq!(shutdown.or_stop(async { 7 }).await, Some(7));
        shutdown.clone().trigger();
        shutdown.trigger();
        waiting.await.unwrap();
        shutdown.wait().await;
        assert!(shutdown.is_triggered());
        assert_eq!(shutdown.or_stop(std::future::pending::<u8>()).await, None);
    }
}
