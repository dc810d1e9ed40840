//! From a schedule that is due to what the store shall write: the policy engine decides, admission makes the tasks.

use admission::{Limits, Planned, TypeTable};
use domain::Millis;
use plan::{Bounds, Plan, Record, Settlement};
use store::{BATCH_MAX, Firing, NewTrigger, ScheduleView};

use crate::{bad_schedules::Kind, calendars::Table, plans::Plans};

/// Planned instants that are walked along in one look at a partition: some milliseconds.
const STEPS: usize = 4_096;

/// What firings are made with.
pub(crate) struct Tables<'t> {
    pub(crate) types: &'t TypeTable,
    pub(crate) limits: &'t Limits,
    pub(crate) calendars: &'t Table,
    /// The store's clock.
    pub(crate) now: Millis,
    /// How much each schedule may do in this turn.
    pub(crate) bounds: Bounds,
}

/// A firing, and when its records were due.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) firing: Firing,
    pub(crate) dues: Vec<Millis>,
    /// Whether there is more to do for it by now.
    pub(crate) more: bool,
}

impl Ready {
    /// Bytes of its payloads.
    pub(crate) fn bytes(&self) -> usize {
        let tasks = self
            .firing
            .records
            .iter()
            .filter_map(|record| record.task.as_ref());
        tasks.map(|task| task.payload.len()).sum()
    }
}

/// How much each of `schedules` may do, so that a catch-up leaves room for what is due now.
pub(crate) fn share(schedules: usize) -> Bounds {
    Bounds {
        records: (BATCH_MAX / schedules.max(1)).max(1),
        steps: (STEPS / schedules.max(1)).max(1),
    }
}

/// Decides about one schedule.
///
/// # Errors
/// Why it can't fire as it stands.
pub(crate) fn ready(
    view: &ScheduleView,
    plans: &mut Plans,
    with: &Tables<'_>,
) -> Result<Ready, (Kind, String)> {
    let definition = |error: String| (Kind::Definition, error);
    let plan = plans.of(view, with.calendars).map_err(definition)?;
    let standing = admission::standing(&view.plan).map_err(|error| definition(error.to_string()))?;
    let slice = plan.slice_within(&standing, with.now, with.bounds);
    let records = slice
        .records
        .iter()
        .map(|record| trigger(view, &plan, record, with));
    let records = records.collect::<Result<_, _>>()?;
    let next = slice.next;
    Ok(Ready {
        firing: Firing {
            cursor: slice.standing.cursor,
            next: next.map_or(0, |next| next.planned_at),
            // What is still behind goes to the end of the line: what is due now comes first.
            due: next.map_or(0, |next| next.due.max(with.now)),
            decision: Settlement::keep(slice.standing.settlement.as_ref()).into(),
            records,
            ..Firing::untouched(&view.plan)
        },
        dues: slice.records.iter().map(|record| record.due).collect(),
        more: slice.more || next.is_some_and(|next| next.due <= with.now),
    })
}

fn trigger(
    view: &ScheduleView,
    plan: &Plan,
    record: &Record,
    with: &Tables<'_>,
) -> Result<NewTrigger, (Kind, String)> {
    let fires = record.outcome == domain::TriggerOutcome::Fired;
    let task = || {
        let planned = Planned {
            plan,
            incarnation: view.plan.incarnation,
            planned_at: record.planned_at,
            fired_at: with.now,
            key: None,
            payload: None,
        };
        admission::planned(planned, with.types, with.limits).map_err(|problems| {
            let first = problems.first().map(ToString::to_string);
            (Kind::Type, first.unwrap_or_default())
        })
    };
    Ok(admission::trigger(record, fires.then(task).transpose()?))
}

/// Puts a schedule that can't fire off until a moment; its instants stay where they are.
pub(crate) fn put_off(view: &ScheduleView, until: Millis) -> Ready {
    Ready {
        firing: Firing {
            due: until.max(view.plan.next),
            ..Firing::untouched(&view.plan)
        },
        dues: Vec::new(),
        more: false,
    }
}
