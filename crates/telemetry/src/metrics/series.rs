//! Every series with its name and its help, in one place: what is counted, and what stands now.

use std::sync::atomic::AtomicU64;

use prometheus_client::{
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::{Metric, Registry},
};

use super::labels::Label;

/// Bounds in seconds: from a task that starts at once to one that took an hour.
const SECONDS: [f64; 18] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0,
    3_600.0,
];

type By<const N: usize, M> = Family<[(&'static str, Label); N], M>;

/// What this process counted and timed.
#[derive(Debug)]
pub(crate) struct Counted {
    pub(crate) tasks: By<2, Counter>,
    pub(crate) wait: By<2, Histogram>,
    pub(crate) run: By<2, Histogram>,
    pub(crate) retries: By<2, Counter>,
    pub(crate) submitted: By<2, Counter>,
    pub(crate) repairs: By<1, Counter>,
    pub(crate) refused: Counter,
    pub(crate) mismatch: By<1, Counter>,
}

impl Counted {
    /// Registers all; a counter's name gets its `_total` when it is shown.
    pub(crate) fn register(registry: &mut Registry) -> Self {
        let counted = Self {
            tasks: Family::default(),
            wait: Family::new_with_constructor(seconds),
            run: Family::new_with_constructor(seconds),
            retries: Family::default(),
            submitted: Family::default(),
            repairs: Family::default(),
            refused: Counter::default(),
            mismatch: Family::default(),
        };
        let mut add = Named(registry);
        add.name("tasks", "Tasks that reached a terminal status", &counted.tasks);
        add.name("task_wait_seconds", "Time from ready to claimed", &counted.wait);
        add.name("task_run_seconds", "Time that one attempt ran", &counted.run);
        add.name("retries", "Attempts that another will follow", &counted.retries);
        add.name("submitted", "Tasks accepted", &counted.submitted);
        add.name(
            "repairs",
            "Breaches of an invariant that were mended",
            &counted.repairs,
        );
        add.name(
            "refused_writes",
            "Writes refused as their lease was lost",
            &counted.refused,
        );
        add.name(
            "io_mismatch",
            "Outputs that do not belong to their inputs",
            &counted.mismatch,
        );
        counted
    }
}

/// What schedules did, and what was found about them.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) lateness: Histogram,
    pub(crate) triggers: By<1, Counter>,
    pub(crate) bad_schedules: By<1, Counter>,
    pub(crate) absent: Counter,
    pub(crate) uncovered: Counter,
    pub(crate) notices: By<1, Counter>,
}

impl Planned {
    /// Registers all.
    pub(crate) fn register(registry: &mut Registry) -> Self {
        let planned = Self {
            lateness: seconds(),
            triggers: Family::default(),
            bad_schedules: Family::default(),
            absent: Counter::default(),
            uncovered: Counter::default(),
            notices: Family::default(),
        };
        let mut add = Named(registry);
        let help = "Time from planned instant to fire";
        add.name("trigger_lateness_seconds", help, &planned.lateness);
        add.name(
            "trigger_records",
            "Planned instants by outcome",
            &planned.triggers,
        );
        let help = "Times that a schedule could not fire as it stands";
        add.name("bad_schedules", help, &planned.bad_schedules);
        let help = "Planned instants found without a record";
        add.name("absent_triggers", help, &planned.absent);
        let help = "Schedules found to run into a year that their calendar does not cover";
        add.name("uncovered_calendars", help, &planned.uncovered);
        add.name(
            "notices",
            "Notices to the webhook by how they ended",
            &planned.notices,
        );
        planned
    }
}

/// What stands at this moment: the slots of this executor, and what one process tells for the whole fleet.
#[derive(Debug, Default)]
pub(crate) struct Standing {
    pub(crate) slots: By<2, Gauge>,
    pub(crate) ready: By<2, Gauge>,
    pub(crate) oldest: By<2, Gauge<f64, AtomicU64>>,
    pub(crate) running: By<1, Gauge>,
    pub(crate) waiting: By<2, Gauge>,
    pub(crate) dead: By<1, Gauge>,
    pub(crate) attempts: By<1, Gauge>,
}

impl Standing {
    /// Registers all.
    pub(crate) fn register(registry: &mut Registry) -> Self {
        let standing = Self::default();
        let mut add = Named(registry);
        add.name("executor_slots", "Slots of this executor", &standing.slots);
        add.name("ready_tasks", "Tasks that are ready to run", &standing.ready);
        add.name(
            "oldest_ready_seconds",
            "Wait of the oldest ready task",
            &standing.oldest,
        );
        add.name("running_tasks", "Tasks that run now", &standing.running);
        add.name(
            "waiting_tasks",
            "Tasks that wait, by their status",
            &standing.waiting,
        );
        add.name("dead_tasks", "Tasks in the dead-letter set", &standing.dead);
        add.name(
            "attempts_max",
            "The most attempts that one task needed today or yesterday (UTC)",
            &standing.attempts,
        );
        standing
    }
}

struct Named<'a>(&'a mut Registry);

impl Named<'_> {
    fn name<M: Metric + Clone>(&mut self, name: &str, help: &str, metric: &M) {
        self.0.register(format!("gengfu_{name}"), help, metric.clone());
    }
}

fn seconds() -> Histogram {
    Histogram::new(SECONDS)
}
