//! Proves the invariants I1 to I10, as far as they can be read out of the store, its outbox and the events stream.
//!
//! Everything is read while the town works, so that each thing is compared with another only where both were read in one
//! step, or in an order that leaves no doubt: the stream first, then the store, then the outbox, then the stream's new
//! end. What is on its way is counted, and is no exception. Memory is bounded (`book.rs`); nothing is written.
//! Start reading at [`run`], then `partition.rs`.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod book;
mod instants;
mod orphans;
mod partition;
mod report;
mod schedules;
mod stream;
mod suspects;
mod tally;
mod task;

use std::{collections::HashSet, sync::Arc};

use domain::{Millis, Partition};
use messaging::Bus;
use store::PlanStore;

pub use report::{Exception, Report};

/// Why an audit could not be ended.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store did not answer.
    #[error("the store could not be read")]
    Store(#[from] store::Error),
    /// The stream could not be read.
    #[error("the events could not be read")]
    Events(#[from] messaging::Error),
}

/// What an audit looks at.
#[derive(Clone)]
pub struct Audit {
    /// The store.
    pub store: Arc<dyn PlanStore>,
    /// The way to the events.
    pub bus: Bus,
    /// Only what happened since, by the store's clock; all that is there where none is given.
    pub since: Option<Millis>,
}

impl std::fmt::Debug for Audit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Audit")
            .field("since", &self.since)
            .finish_non_exhaustive()
    }
}

/// Audits the whole store. `progress` is told of every partition that is done, of how many.
///
/// # Errors
/// The store or the stream could not be read to the end: nothing is proved then.
pub async fn run(audit: &Audit, mut progress: impl FnMut(Partition, u16)) -> Result<Report, Error> {
    let mut report = Report {
        since: audit.since,
        ..Report::default()
    };
    let partitions = audit.store.partitions();
    let mut tokens = HashSet::new();
    for partition in 0..partitions {
        partition::look(audit, partition, &mut tokens, &mut report).await?;
        orphans::look(audit, partition, &mut report).await?;
        tally::look(audit, partition, &mut report).await?;
        schedules::look(audit, partition, &mut report).await?;
        progress(partition + 1, partitions);
    }
    Ok(report)
}
