//! The loops of a service, by name: started together, ended together.

use std::{collections::HashMap, fmt, time::Duration};

use tokio::task::{Id, JoinError, JoinSet};

use crate::Shutdown;

/// Named loops that end when the shutdown is triggered. If one ends before, all are asked to stop: half a service
/// that looks alive is worse than one that is restarted.
#[derive(Debug)]
pub struct Tasks {
    shutdown: Shutdown,
    set: JoinSet<Result<(), String>>,
    names: HashMap<Id, &'static str>,
}

/// How the loops of a service ended.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Drained {
    /// Those that failed or panicked, with the error.
    pub failed: Vec<(&'static str, String)>,
    /// Those that were aborted because the grace was over.
    pub aborted: Vec<&'static str>,
}

impl Drained {
    /// Whether all ended well and in time.
    #[must_use]
    pub const fn is_clean(&self) -> bool {
        self.failed.is_empty() && self.aborted.is_empty()
    }
}

impl Tasks {
    /// No loops yet.
    #[must_use]
    pub fn new(shutdown: Shutdown) -> Self {
        Self {
            shutdown,
            set: JoinSet::new(),
            names: HashMap::new(),
        }
    }

    /// Starts a loop that can't fail.
    pub fn spawn(&mut self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        self.try_spawn(name, async move {
            task.await;
            Ok::<(), String>(())
        });
    }

    /// Starts a loop that may end with an error.
    pub fn try_spawn<E: fmt::Display>(
        &mut self,
        name: &'static str,
        task: impl Future<Output = Result<(), E>> + Send + 'static,
    ) {
        let handle = self
            .set
            .spawn(async move { task.await.map_err(|error| format!("{error:#}")) });
        self.names.insert(handle.id(), name);
    }

    /// Waits for the shutdown, or for a loop that ends before it, then gives all of them `grace` to end.
    pub async fn run(mut self, grace: Duration) -> Drained {
        let mut drained = Drained::default();
        while let Some(Some(ended)) = self.shutdown.or_stop(self.set.join_next_with_id()).await {
            let name = self.note(ended, &mut drained);
            if !self.shutdown.is_triggered() {
                tracing::error!(task = name, "a loop ended before its time, stopping");
                self.shutdown.trigger();
            }
        }
        self.shutdown.trigger();
        let all = async {
            while let Some(ended) = self.set.join_next_with_id().await {
                self.note(ended, &mut drained);
            }
        };
        if tokio::time::timeout(grace, all).await.is_err() {
            drained.aborted = self.names.values().copied().collect();
            drained.aborted.sort_unstable();
            tracing::warn!(
                tasks = drained.aborted.join(" "),
                "aborted what did not end within the grace"
            );
            self.set.shutdown().await;
        }
        drained
    }

    fn note(
        &mut self,
        ended: Result<(Id, Result<(), String>), JoinError>,
        drained: &mut Drained,
    ) -> &'static str {
        let (id, error) = match ended {
            Ok((id, result)) => (id, result.err()),
            Err(error) => (error.id(), Some(error.to_string())),
        };
        let name = self.names.remove(&id).unwrap_or("unnamed");
        if let Some(error) = error {
            tracing::error!(task = name, error, "a loop failed");
            drained.failed.push((name, error));
        }
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRACE: Duration = Duration::from_millis(50);

    #[tokio::test]
    async fn loops_end_with_the_shutdown() {
        let shutdown = Shutdown::new();
        let mut tasks = Tasks::new(shutdown.clone());
        for name in ["claim", "heartbeat"] {
            let shutdown = shutdown.clone();
            tasks.spawn(name, async move { shutdown.wait().await });
        }
        shutdown.trigger();
        assert!(tasks.run(Duration::from_secs(60)).await.is_clean());
    }

    #[tokio::test]
    async fn one_that_fails_stops_the_others_and_is_named() {
        let shutdown = Shutdown::new();
        let mut tasks = Tasks::new(shutdown.clone());
        let waiting = shutdown.clone();
        tasks.spawn("claim", async move { waiting.wait().await });
        tasks.try_spawn("sweep", async { Err("no disk") });
        let drained = tasks.run(Duration::from_secs(60)).await;
        assert_eq!(drained.failed, [("sweep", "no disk".to_owned())]);
        assert!(drained.aborted.is_empty() && shutdown.is_triggered());
    }

    #[tokio::test]
    async fn a_panic_is_an_end_too() {
        let mut tasks = Tasks::new(Shutdown::new());
        tasks.spawn("fire", async { panic!("on purpose") });
        let drained = tasks.run(Duration::from_secs(60)).await;
        assert_eq!(drained.failed[0].0, "fire");
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_hangs_is_aborted_after_the_grace() {
        let shutdown = Shutdown::new();
        let mut tasks = Tasks::new(shutdown.clone());
        tasks.spawn("hangs", std::future::pending());
        shutdown.trigger();
        let began = tokio::time::Instant::now();
        assert_eq!(tasks.run(GRACE).await.aborted, ["hangs"]);
        assert!(began.elapsed() >= GRACE);
    }
}
