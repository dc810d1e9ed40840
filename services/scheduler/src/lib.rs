//! Owns time: fires schedules, makes due tasks ready, takes back what vanished executors held, and sweeps up what was left behind.
//!
//! Replicas share the work without a leader. Every verb is safe in any number of hands; a lease of each partition
//! (`turns.rs`) only says who asks often and who stands by. Start reading at [`run`], then one file for each duty.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod absence;
mod absence_look;
mod bad_schedules;
mod beat;
mod calendars;
mod call;
mod cover;
mod error;
mod fire;
mod firing;
mod follow;
mod gauges;
mod hints;
mod notify;
mod outbox;
mod plans;
mod reclaim;
mod release_due;
mod retain;
mod sweep;
mod trigger_line;
mod turns;
mod wakes;
mod walk;
mod watch;

use std::{sync::Arc, time::Duration};

use admission::{Limits, Types};
use domain::Partition;
use messaging::{Announcer, Bus};
use runtime::{Drained, Health, Shutdown, Tasks};
use store::{Origin, PlanStore, Retention};
use telemetry::Metrics;

pub use notify::Webhook;

use crate::{beat::beat, calendars::Calendars, notify::Notices, turns::Turns};

/// How long duties may go on once it is time to stop; longer than one call to the store.
const GRACE: Duration = Duration::from_secs(10);

/// What a scheduler is. The times are those of a partition that it has the turn of.
#[derive(Debug, Clone)]
pub struct Config {
    /// The node, for timelines, logs and leases; one of its own for each process.
    pub node: String,
    /// The lease of the fleet's executors: after an outage nothing is reclaimed for so long.
    pub lease: Duration,
    /// How often due tasks are looked for.
    pub release_every: Duration,
    /// How often due schedules are looked for; for those that it knows of it wakes by itself.
    pub fire_every: Duration,
    /// How often expired leases are looked for.
    pub reclaim_every: Duration,
    /// How often entries that stayed in the outbox are looked for.
    pub outbox_every: Duration,
    /// How old they must be.
    pub outbox_age: Duration,
    /// Time in which retention goes through all partitions.
    pub retain_every: Duration,
    /// How long terminal tasks stay.
    pub retention: Retention,
    /// How long trigger records stay.
    pub triggers_age: Duration,
    /// How late the record of a planned instant may be before people are told that it is missing.
    pub absence_grace: Duration,
    /// Where people are told, besides the log.
    pub webhook: Webhook,
    /// Time in which the sweep takes a slice of each partition.
    pub sweep_every: Duration,
    /// How often it is looked which sealed batches have ended.
    pub follow_every: Duration,
    /// What a task of a schedule, or one that follows a batch, may be.
    pub limits: Limits,
    /// How often the gauges of the fleet are set.
    pub gauges_every: Duration,
}

impl Config {
    /// The times that fit nearly everybody: a retry starts within 0.1 s of its time, an expired lease is taken back
    /// within 0.5 s (2 s where a scheduler just died; I4).
    #[must_use]
    pub fn new(node: impl Into<String>, lease: Duration, retention: Retention) -> Self {
        Self {
            node: node.into(),
            lease,
            release_every: Duration::from_millis(100),
            fire_every: Duration::from_millis(200),
            reclaim_every: Duration::from_millis(500),
            outbox_every: Duration::from_secs(2),
            outbox_age: Duration::from_secs(5),
            retain_every: Duration::from_secs(10),
            retention,
            triggers_age: Duration::from_secs(30 * 86_400),
            absence_grace: Duration::from_secs(60),
            webhook: Webhook::default(),
            sweep_every: Duration::from_secs(30),
            follow_every: Duration::from_millis(500),
            limits: Limits::default(),
            gauges_every: Duration::from_secs(5),
        }
    }
}

/// What a scheduler works with.
#[derive(Clone)]
pub struct Parts {
    /// The task state and the plan table.
    pub store: Arc<dyn PlanStore>,
    /// Where ready hints go.
    pub bus: Bus,
    /// Where transitions go.
    pub announcer: Announcer,
    /// The task types.
    pub types: Types,
    /// What is counted.
    pub metrics: Metrics,
    /// Where it says what it waits for, as `redis` and `nats`.
    pub health: Health,
}

/// What all duties share.
struct Town {
    config: Config,
    parts: Parts,
    origin: Origin,
    turns: Turns,
    calendars: Calendars,
    notices: Notices,
    shutdown: Shutdown,
}

/// Works until `shutdown`; a store or a NATS that is away is waited for.
pub async fn run(config: Config, parts: Parts, shutdown: Shutdown) -> Drained {
    let partitions = parts.store.partitions();
    let (notices, outgoing) = Notices::new(config.webhook.clone(), parts.metrics.clone());
    let town = Arc::new(Town {
        origin: Origin {
            actor: "scheduler".into(),
            node: config.node.clone(),
            reason: String::new(),
        },
        turns: Turns::new(&config.node, partitions),
        calendars: Calendars::default(),
        notices,
        shutdown: shutdown.clone(),
        config,
        parts,
    });
    let mut tasks = Tasks::new(shutdown.clone());
    tasks.spawn("watch-redis", watch::redis(Arc::clone(&town)));
    tasks.spawn("watch-nats", watch::nats(Arc::clone(&town)));
    if let Some(outgoing) = outgoing {
        tasks.spawn("notify", outgoing.send_all(shutdown));
    }
    for partition in 0..partitions {
        work_in(partition, &town, &mut tasks);
    }
    walk_through(partitions, &town, &mut tasks);
    drop(town);
    tasks.run(GRACE).await
}

/// Starts the duties that one partition has for itself.
fn work_in(partition: Partition, town: &Arc<Town>, tasks: &mut Tasks) {
    let town = || Arc::clone(town);
    let here = &town();
    tasks.spawn("fire", beat(fire::Fire::new(here, partition), town()));
    tasks.spawn(
        "release_due",
        beat(release_due::ReleaseDue::new(here, partition), town()),
    );
    tasks.spawn("reclaim", beat(reclaim::Reclaim::new(here, partition), town()));
    tasks.spawn("follow", beat(follow::Follow::new(partition), town()));
    tasks.spawn("outbox", beat(outbox::Outbox::new(partition), town()));
}

/// Starts the duties that take one partition after the other, and those of the whole store.
fn walk_through(partitions: u16, town: &Arc<Town>, tasks: &mut Tasks) {
    let town = || Arc::clone(town);
    tasks.spawn("turns", beat(turns::TakeTurns::new(&town()), town()));
    tasks.spawn("retain", beat(retain::Retain::new(partitions), town()));
    tasks.spawn("sweep", beat(sweep::Sweep::new(partitions), town()));
    tasks.spawn("absence", beat(absence::Absence::new(partitions), town()));
    tasks.spawn("cover", beat(cover::Cover::new(partitions), town()));
    tasks.spawn("gauges", beat(gauges::Gauges::default(), town()));
}

/// Milliseconds, as the store takes them.
fn ms(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
