//! Owns memory: reads every transition of a partition in the order of its stream, and writes it down once.
//!
//! Replicas share the partitions under leases (`shares.rs`). The position of the stream is kept in the same step as
//! what is made of the events (`archive.rs`), and only then the stream is told; so a repeat never counts twice, and
//! two readers at once do no harm. Start reading at [`run`], then `read.rs`.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod archive;
mod error;
mod page;
mod read;
mod readers;
mod reannounce;
mod shares;
mod spans;
mod watch;

use std::sync::Arc;
use std::time::Duration;

use messaging::{Announcer, Bus};
use runtime::{Drained, Health, Shutdown, Tasks};
use store::TaskStore;

pub use archive::{Archive, ArchiveError, Counts};
pub use page::Page;

/// How long a page that is being written may take once it is time to stop.
const GRACE: Duration = Duration::from_secs(10);

/// What a recorder is.
#[derive(Debug, Clone)]
pub struct Config {
    /// The node, for leases and logs; one of its own for each process.
    pub node: String,
    /// How long a partition stays with a recorder that went silent.
    pub lease: Duration,
}

impl Config {
    /// With the lease that fits nearly everybody, 5 s.
    #[must_use]
    pub fn new(node: impl Into<String>) -> Self {
        Self {
            node: node.into(),
            lease: Duration::from_secs(5),
        }
    }
}

/// What a recorder works with.
#[derive(Clone)]
pub struct Parts {
    /// The task state.
    pub store: Arc<dyn TaskStore>,
    /// Where events come from.
    pub bus: Bus,
    /// Where events go again that a lost stream took along.
    pub announcer: Announcer,
    /// Where events are written; [`Counts`] is the store's own.
    pub archive: Arc<dyn Archive>,
    /// Where it says what it waits for, as `redis` and `nats`.
    pub health: Health,
}

/// What all parts of one recorder share.
struct Recorder {
    config: Config,
    parts: Parts,
    shutdown: Shutdown,
}

/// Records until `shutdown`; a store or a NATS that is away is waited for. Its partitions are free for others at the
/// end.
pub async fn run(config: Config, parts: Parts, shutdown: Shutdown) -> Drained {
    let recorder = Arc::new(Recorder {
        config,
        parts,
        shutdown: shutdown.clone(),
    });
    let mut tasks = Tasks::new(shutdown);
    tasks.spawn("watch-redis", watch::redis(Arc::clone(&recorder)));
    tasks.spawn("watch-nats", watch::nats(Arc::clone(&recorder)));
    tasks.spawn("shares", readers::share(recorder));
    tasks.run(GRACE).await
}
