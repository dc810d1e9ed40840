//! Looks names up as the system does, and says so while a run waits for it.

use std::io;

use handler::Progress;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

tokio::task_local! {
    /// The run that is waiting for a connection.
    static RUN: Progress;
}

/// Plays a request whose look-ups are told to `progress`.
pub(super) async fn telling<F: Future>(progress: &Progress, request: F) -> F::Output {
    RUN.scope(progress.clone(), request).await
}

/// The system's resolver. A connection that another run of the same host waits for too is told to the one that asked
/// for it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Resolver;

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let progress = RUN.try_with(Progress::clone).ok();
        Box::pin(async move {
            let tell = |phase: &'static str| {
                if let Some(progress) = &progress {
                    progress.phase(phase);
                }
            };
            tell("dns");
            // The port is filled in by whoever connects.
            let found: io::Result<Vec<_>> = tokio::net::lookup_host((name.as_str(), 0))
                .await
                .map(Iterator::collect);
            tell("connect");
            Ok(Box::new(found?.into_iter()) as Addrs)
        })
    }
}
