//! The seam of the archive: where pages of events are written.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use async_trait::async_trait;
use store::{Recorded, TaskStore};

use crate::Page;

/// Why a page was not written.
#[derive(Debug, thiserror::Error)]
#[error("a page of events was not written")]
pub struct ArchiveError {
    /// Whether the same page may be written later without anybody's help.
    pub passing: bool,
    /// The reason.
    #[source]
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

/// Keeps what happened. The position of a page is kept in the same step as what is made of its events, and a page or
/// an event that comes again changes nothing.
#[async_trait]
pub trait Archive: Send + Sync + 'static {
    /// Writes a page; what of it was new.
    ///
    /// # Errors
    /// Nothing is known to be written; the same page comes again.
    async fn write(&self, page: &Page) -> Result<Recorded, ArchiveError>;
}

/// The archive in the store itself: counts by hour and type, no history beyond the timelines.
pub struct Counts {
    store: Arc<dyn TaskStore>,
    refused: AtomicU64,
}

impl std::fmt::Debug for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Counts")
            .field("refused", &self.refused())
            .finish_non_exhaustive()
    }
}

impl Counts {
    /// Counts in this store.
    #[must_use]
    pub fn new(store: Arc<dyn TaskStore>) -> Self {
        Self {
            store,
            refused: AtomicU64::new(0),
        }
    }

    /// Submissions that became no task, seen by this process.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused.load(Relaxed)
    }
}

#[async_trait]
impl Archive for Counts {
    async fn write(&self, page: &Page) -> Result<Recorded, ArchiveError> {
        let call = self
            .store
            .record(page.partition, page.epoch, page.position, &page.events);
        let recorded = call.await.map_err(|error| ArchiveError {
            passing: error.is_passing(),
            source: Box::new(error),
        })?;
        self.refused.fetch_add(page.refused.len() as u64, Relaxed);
        for refused in &page.refused {
            tracing::warn!(
                reason = refused.reason,
                error_code = refused.error_code,
                digest = hex(&refused.digest),
                source = refused.source,
                at_ms = refused.at_ms,
                "a submission was refused"
            );
        }
        Ok(recorded)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().take(32).map(|byte| format!("{byte:02x}")).collect()
}
