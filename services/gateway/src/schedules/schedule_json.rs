//! A schedule as the API shows it.

use domain::{Millis, TaskId};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use store::{Plan, PlanState, ScheduleView};
use utoipa::ToSchema;

use crate::{schedules::fan_out::FanOutJson, time::Instant};

/// What of a definition stands in a list.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Outline {
    #[serde(rename = "type")]
    pub(crate) task_type: String,
    pub(crate) cron: Option<String>,
    pub(crate) every: Option<String>,
    pub(crate) at: Option<String>,
    pub(crate) zone: String,
    pub(crate) calendar: Option<String>,
    pub(crate) fan_out: Option<FanOutJson>,
}

impl Outline {
    /// Reads a definition; of one that can't be read nothing is known.
    pub(crate) fn of(spec: &[u8]) -> Self {
        serde_json::from_slice(spec).unwrap_or_default()
    }
}

/// A schedule. Instants are UTC; what never happened is null.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Schedule)]
pub(crate) struct ScheduleJson {
    name: String,
    #[serde(rename = "type")]
    task_type: String,
    /// `active`, `paused` or `finished`.
    state: &'static str,
    cron: Option<String>,
    every: Option<String>,
    /// The one instant of a schedule that has only one.
    at: Option<String>,
    zone: String,
    calendar: Option<String>,
    /// Where its fires are batches: where their rows come from.
    fan_out: Option<FanOutJson>,
    /// Differs for each schedule that ever had this name, and grows.
    incarnation: u64,
    /// Number of its definitions so far.
    version: u32,
    /// Up to here every planned instant has its record.
    #[schema(value_type = Option<String>)]
    cursor: Option<Instant>,
    /// The planned instant that fires next; null while it is paused.
    #[schema(value_type = Option<String>)]
    next_fire: Option<Instant>,
    /// When that is to be fired: later where the schedule has a spread.
    #[schema(value_type = Option<String>)]
    next_due: Option<Instant>,
    /// The latest planned instant that became a task.
    #[schema(value_type = Option<String>)]
    last_fire: Option<Instant>,
    #[schema(value_type = Option<String>)]
    last_task: Option<TaskId>,
    /// How the latest instant ended: `fired`, `skipped` or `missed`.
    last_outcome: Option<&'static str>,
    last_reason: Option<String>,
    paused_by: Option<String>,
    /// Why it is paused.
    reason: Option<String>,
    #[schema(value_type = Option<String>)]
    paused_since: Option<Instant>,
    /// Planned instants that became a task.
    fires: u64,
    max_fires: Option<u64>,
    overlap: &'static str,
    #[schema(value_type = Option<String>)]
    created_at: Option<Instant>,
    #[schema(value_type = Option<String>)]
    changed_at: Option<Instant>,
    /// Its tasks that have not ended; not kept under `overlap: allow`.
    live: Vec<LiveJson>,
}

/// A task of a schedule that has not ended.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LiveTask)]
struct LiveJson {
    #[schema(value_type = String)]
    task_id: TaskId,
    /// Whether it waits until those before it have ended.
    blocked: bool,
}

/// A schedule with its definition.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ScheduleWhole)]
pub(crate) struct WholeJson<'a> {
    #[serde(flatten)]
    #[schema(inline)]
    pub(crate) schedule: ScheduleJson,
    /// When it fires, in words.
    pub(crate) describe: Option<String>,
    /// What is allowed and yet is often not what was meant.
    pub(crate) warnings: Vec<String>,
    /// The definition in its canonical form.
    #[schema(value_type = Object)]
    pub(crate) spec: &'a RawValue,
}

impl ScheduleJson {
    pub(crate) fn of(view: &ScheduleView, outline: Outline) -> Self {
        let plan = &view.plan;
        let live = view.live.iter().map(|task| LiveJson {
            task_id: task.id,
            blocked: task.blocked,
        });
        Self {
            task_type: outline.task_type,
            cron: outline.cron,
            every: outline.every,
            at: outline.at,
            zone: outline.zone,
            calendar: outline.calendar,
            fan_out: outline.fan_out,
            live: live.collect(),
            ..Self::line(plan)
        }
    }

    /// What stands in the plan table.
    fn line(plan: &Plan) -> Self {
        let pause = plan.pause.as_ref().filter(|pause| pause.until == 0);
        let last = plan.last.as_ref();
        let fires = |at: Millis| Instant::some(at).filter(|_| plan.state() == PlanState::Active);
        Self {
            name: plan.name.clone(),
            task_type: String::new(),
            state: plan.state().as_str(),
            cron: None,
            every: None,
            at: None,
            zone: String::new(),
            calendar: None,
            fan_out: None,
            incarnation: plan.incarnation,
            version: plan.version,
            cursor: Instant::some(plan.cursor),
            next_fire: fires(plan.next),
            next_due: fires(plan.due),
            last_fire: plan.last_fired.and_then(|last| Instant::some(last.planned_at)),
            last_task: plan.last_fired.map(|last| last.task),
            last_outcome: last.map(|last| last.outcome.as_str()),
            last_reason: last
                .map(|last| last.reason.clone())
                .filter(|said| !said.is_empty()),
            paused_by: pause.map(|pause| pause.by.clone()),
            reason: pause.map(|pause| pause.reason.clone()),
            paused_since: pause.and_then(|pause| Instant::some(pause.since)),
            fires: plan.fires,
            max_fires: Some(plan.max_fires).filter(|most| *most > 0),
            overlap: plan.overlap.as_str(),
            created_at: Instant::some(plan.created_at),
            changed_at: Instant::some(plan.changed_at),
            live: Vec::new(),
        }
    }
}
