//! The numbers that a service shows on `/metrics`, under the names of DESIGN section 9.
//!
//! Labels come from bounded sets; the names of types and pools are bounded here, and ids never are labels.

mod labels;
mod process;
mod series;

use std::sync::Arc;

use domain::{ErrorClass, Status, Tier};
use prometheus_client::{encoding::prometheus_text, registry::Registry};

use labels::{Label, Names};
use series::{Counted, Planned, Standing};

/// The content type of [`Metrics::render`].
pub const METRICS_CONTENT_TYPE: &str = prometheus_text::CONTENT_TYPE;

/// Types that get series of their own; further ones share the label `other`.
const TYPES_MAX: usize = 500;
/// Pools likewise.
const POOLS_MAX: usize = 100;

/// The metrics of one process. Clones share them.
///
/// Times are in seconds. A gauge of the whole fleet must have one exporter, so that `sum()` is right: who sets it
/// calls [`Metrics::clear_fleet`] when the duty passes to another.
#[derive(Debug, Clone)]
pub struct Metrics(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    registry: Registry,
    counted: Counted,
    planned: Planned,
    standing: Standing,
    types: Names,
    pools: Names,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// Metrics without a value yet, but for those of the process.
    #[must_use]
    pub fn new() -> Self {
        let mut registry = Registry::default();
        let counted = Counted::register(&mut registry);
        let planned = Planned::register(&mut registry);
        let standing = Standing::register(&mut registry);
        registry.register_collector(Box::new(process::Process));
        let (types, pools) = (Names::new(TYPES_MAX), Names::new(POOLS_MAX));
        Self(Arc::new(Inner {
            registry,
            counted,
            planned,
            standing,
            types,
            pools,
        }))
    }

    /// All of them in the text format of Prometheus.
    #[must_use]
    pub fn render(&self) -> String {
        let mut text = String::new();
        // It fails only where the writer does, and a string doesn't.
        let _ = prometheus_text::encode(&mut text, &self.0.registry);
        text
    }

    /// A task reached a terminal status.
    pub fn task_ended(&self, task_type: &str, status: Status) {
        let labels = [
            ("type", self.task_type(task_type)),
            ("status", Label::Fixed(status.as_str())),
        ];
        self.0.counted.tasks.get_or_create(&labels).inc();
    }

    /// A task was claimed this long after it became ready.
    pub fn observe_wait(&self, task_type: &str, tier: Tier, seconds: f64) {
        let labels = [
            ("type", self.task_type(task_type)),
            ("tier", Label::Fixed(tier.as_str())),
        ];
        self.0
            .counted
            .wait
            .get_or_create(&labels)
            .observe(seconds.max(0.0));
    }

    /// A run ended in this status after so long.
    pub fn observe_run(&self, task_type: &str, status: Status, seconds: f64) {
        let labels = [
            ("type", self.task_type(task_type)),
            ("status", Label::Fixed(status.as_str())),
        ];
        self.0
            .counted
            .run
            .get_or_create(&labels)
            .observe(seconds.max(0.0));
    }

    /// A schedule fired this long after its planned instant.
    pub fn observe_lateness(&self, seconds: f64) {
        self.0.planned.lateness.observe(seconds.max(0.0));
    }

    /// A task will be run again after an error of this class.
    pub fn retried(&self, task_type: &str, class: ErrorClass) {
        let labels = [
            ("type", self.task_type(task_type)),
            ("class", Label::Fixed(class.as_str())),
        ];
        self.0.counted.retries.get_or_create(&labels).inc();
    }

    /// A task was accepted from `http`, `nats`, `schedule`, `batch` or the like.
    pub fn submitted(&self, task_type: &str, source: &'static str) {
        let labels = [
            ("type", self.task_type(task_type)),
            ("source", Label::Fixed(source)),
        ];
        self.0.counted.submitted.get_or_create(&labels).inc();
    }

    /// The sweep mended something that broke this invariant, such as `I9`.
    pub fn repaired(&self, invariant: &'static str, times: u64) {
        self.0
            .counted
            .repairs
            .get_or_create(&[("invariant", Label::Fixed(invariant))])
            .inc_by(times);
    }

    /// The store refused a write whose lease was lost (I3).
    pub fn refused_write(&self) {
        self.0.counted.refused.inc();
    }

    /// An output did not belong to its input, in this respect (`id`, `time`, `row`, `digest`).
    pub fn io_mismatch(&self, kind: &'static str) {
        self.0
            .counted
            .mismatch
            .get_or_create(&[("kind", Label::Fixed(kind))])
            .inc();
    }

    /// Trigger records were written with this outcome: `fired`, `skipped` or `missed`.
    pub fn trigger_records(&self, outcome: &'static str, records: u64) {
        self.0
            .planned
            .triggers
            .get_or_create(&[("outcome", Label::Fixed(outcome))])
            .inc_by(records);
    }

    /// A schedule could not fire as it stands, because of its `definition`, its `type` or the like.
    pub fn bad_schedule(&self, kind: &'static str) {
        self.0
            .planned
            .bad_schedules
            .get_or_create(&[("kind", Label::Fixed(kind))])
            .inc();
    }

    /// A planned instant has no record although its time and a grace are over (I7).
    pub fn absent_trigger(&self) {
        self.0.planned.absent.inc();
    }

    /// A schedule will run into a year that its calendar does not cover.
    pub fn uncovered_calendar(&self) {
        self.0.planned.uncovered.inc();
    }

    /// A notice for people was `sent`, `failed` for good, or `dropped` because too many waited.
    pub fn notice(&self, end: &'static str) {
        self.0
            .planned
            .notices
            .get_or_create(&[("end", Label::Fixed(end))])
            .inc();
    }

    /// Slots of this executor that are `busy` or `free`.
    pub fn set_slots(&self, pool: &str, state: &'static str, slots: i64) {
        let labels = [("pool", self.pool(pool)), ("state", Label::Fixed(state))];
        self.0.standing.slots.get_or_create(&labels).set(slots);
    }

    /// Tasks ready in the whole fleet.
    pub fn set_ready(&self, pool: &str, tier: Tier, tasks: i64) {
        let labels = [("pool", self.pool(pool)), ("tier", Label::Fixed(tier.as_str()))];
        self.0.standing.ready.get_or_create(&labels).set(tasks);
    }

    /// How long the oldest ready task of the fleet has waited; 0 where none waits.
    pub fn set_oldest_ready(&self, pool: &str, tier: Tier, seconds: f64) {
        let labels = [("pool", self.pool(pool)), ("tier", Label::Fixed(tier.as_str()))];
        self.0
            .standing
            .oldest
            .get_or_create(&labels)
            .set(seconds.max(0.0));
    }

    /// Tasks running in the whole fleet.
    pub fn set_running(&self, task_type: &str, tasks: i64) {
        self.0
            .standing
            .running
            .get_or_create(&[("type", self.task_type(task_type))])
            .set(tasks);
    }

    /// Tasks waiting in the whole fleet: `pending` for their time or their turn, `retrying` after a failed attempt.
    pub fn set_waiting(&self, task_type: &str, state: &'static str, tasks: i64) {
        let labels = [
            ("type", self.task_type(task_type)),
            ("state", Label::Fixed(state)),
        ];
        self.0.standing.waiting.get_or_create(&labels).set(tasks);
    }

    /// Tasks in the dead-letter set.
    pub fn set_dead(&self, task_type: &str, tasks: i64) {
        self.0
            .standing
            .dead
            .get_or_create(&[("type", self.task_type(task_type))])
            .set(tasks);
    }

    /// The most attempts that one task of the type needed of late.
    pub fn set_attempts_max(&self, task_type: &str, attempts: i64) {
        self.0
            .standing
            .attempts
            .get_or_create(&[("type", self.task_type(task_type))])
            .set(attempts);
    }

    /// Forgets the gauges of the whole fleet, because another process exports them from now on.
    pub fn clear_fleet(&self) {
        let standing = &self.0.standing;
        standing.ready.clear();
        standing.oldest.clear();
        standing.waiting.clear();
        for family in [&standing.running, &standing.dead, &standing.attempts] {
            family.clear();
        }
    }

    fn task_type(&self, name: &str) -> Label {
        self.0.types.label(name)
    }

    fn pool(&self, name: &str) -> Label {
        self.0.pools.label(name)
    }
}

#[cfg(test)]
mod tests;
