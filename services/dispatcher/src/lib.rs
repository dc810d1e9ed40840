//! Owns order: admits submissions from NATS, and moves ready tasks into JetStream by tier.
//!
//! Start reading at [`run`]; `order.rs` says which task goes next, `slots.rs` how many may.

mod admit;
mod order;
mod ready;
mod requests;
mod slots;
mod submissions;
mod waiting;

use std::{sync::Arc, time::Duration};

use admission::{Limits, Types};
use messaging::{Announcer, Bus};
use runtime::{Shutdown, Tasks};
use store::TaskStore;
use telemetry::Metrics;

use crate::slots::Slots;
use crate::waiting::Waiting;

/// What a dispatcher is.
#[derive(Debug, Clone)]
pub struct Config {
    /// Its name, one of its own: it holds duties by it.
    pub id: String,
    /// The node, for timelines and logs.
    pub node: String,
    /// How much work, in time of a pool's completions, is sent ahead of its free slots.
    pub window: Duration,
    /// What a submission may be.
    pub limits: Limits,
}

/// What a dispatcher works with.
#[derive(Clone)]
pub struct Parts {
    /// The task state.
    pub store: Arc<dyn TaskStore>,
    /// Where hints come from and go to.
    pub bus: Bus,
    /// Where transitions go.
    pub announcer: Announcer,
    /// The task types.
    pub types: Types,
    /// What is counted.
    pub metrics: Metrics,
}

/// The state that the loops of one dispatcher share.
struct Dispatcher {
    config: Config,
    parts: Parts,
    slots: Slots,
    waiting: Waiting,
}

/// Works until `shutdown`.
pub async fn run(config: Config, parts: Parts, shutdown: Shutdown) {
    let slots = Slots::new(config.window);
    let dispatcher = Arc::new(Dispatcher {
        config,
        parts,
        slots,
        waiting: Waiting::default(),
    });
    let mut tasks = Tasks::new(shutdown.clone());
    tasks.spawn("order", order::run(Arc::clone(&dispatcher), shutdown.clone()));
    tasks.spawn(
        "ready hints",
        ready::run(Arc::clone(&dispatcher), shutdown.clone()),
    );
    tasks.spawn(
        "slot reports",
        slots::run(Arc::clone(&dispatcher), shutdown.clone()),
    );
    tasks.spawn(
        "submissions",
        submissions::run(Arc::clone(&dispatcher), shutdown.clone()),
    );
    tasks.spawn("requests", requests::run(dispatcher, shutdown));
    tasks.run(Duration::from_secs(10)).await;
}
