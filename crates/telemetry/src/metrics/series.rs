//! Every series with its name and its help, in one place.

use prometheus_client::{
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::{Metric, Registry},
};
use std::sync::atomic::AtomicU64;

use super::{By, Counts, Gauges, Histograms};

/// Bounds in seconds: from a task that starts at once to one that took an hour.
const SECONDS: [f64; 18] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0,
    3_600.0,
];

#[derive(Debug)]
pub(crate) struct Series {
    pub(crate) tasks: Counts<2>,
    pub(crate) wait: Histograms<2>,
    pub(crate) run: Histograms<2>,
    pub(crate) lateness: Histogram,
    pub(crate) retries: Counts<2>,
    pub(crate) submitted: Counts<2>,
    pub(crate) repairs: Counts<1>,
    pub(crate) refused: Counter,
    pub(crate) mismatch: Counts<1>,
    pub(crate) triggers: Counts<1>,
    pub(crate) slots: Gauges<2>,
    pub(crate) ready: Gauges<2>,
    pub(crate) oldest: By<2, Gauge<f64, AtomicU64>>,
    pub(crate) running: Gauges<1>,
    pub(crate) waiting: Gauges<2>,
    pub(crate) dead: Gauges<1>,
    pub(crate) attempts: Gauges<1>,
}

impl Series {
    /// Registers all; a counter's name gets its `_total` when it is shown.
    pub(crate) fn register(registry: &mut Registry) -> Self {
        let timed = || Family::new_with_constructor(seconds as fn() -> Histogram);
        let r = registry;
        Self {
            tasks: add(
                r,
                "tasks",
                "Tasks that reached a terminal status",
                Family::default(),
            ),
            wait: add(r, "task_wait_seconds", "Time from ready to claimed", timed()),
            run: add(r, "task_run_seconds", "Time that one attempt ran", timed()),
            lateness: add(
                r,
                "trigger_lateness_seconds",
                "Time from a planned instant to its fire",
                seconds(),
            ),
            retries: add(
                r,
                "retries",
                "Attempts that will be followed by another",
                Family::default(),
            ),
            submitted: add(r, "submitted", "Tasks accepted", Family::default()),
            repairs: add(
                r,
                "repairs",
                "Breaches of an invariant found and mended",
                Family::default(),
            ),
            refused: add(
                r,
                "refused_writes",
                "Writes refused because their lease was lost",
                Counter::default(),
            ),
            mismatch: add(
                r,
                "io_mismatch",
                "Outputs that do not belong to their inputs",
                Family::default(),
            ),
            triggers: add(
                r,
                "trigger_records",
                "Planned instants of schedules by outcome",
                Family::default(),
            ),
            slots: add(r, "executor_slots", "Slots of this executor", Family::default()),
            ready: add(r, "ready_tasks", "Tasks that are ready to run", Family::default()),
            oldest: add(
                r,
                "oldest_ready_seconds",
                "Wait of the oldest ready task",
                Family::default(),
            ),
            running: add(r, "running_tasks", "Tasks that run now", Family::default()),
            waiting: add(
                r,
                "waiting_tasks",
                "Tasks that wait, by what they wait for",
                Family::default(),
            ),
            dead: add(r, "dead_tasks", "Tasks in the dead-letter set", Family::default()),
            attempts: add(
                r,
                "attempts_max",
                "The most attempts that one task needed",
                Family::default(),
            ),
        }
    }
}

fn add<M: Metric + Clone>(registry: &mut Registry, name: &str, help: &str, metric: M) -> M {
    registry.register(format!("gengfu_{name}"), help, metric.clone());
    metric
}

fn seconds() -> Histogram {
    Histogram::new(SECONDS)
}
