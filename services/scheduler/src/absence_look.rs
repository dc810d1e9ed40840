//! One look of the watchdog: the instants of a schedule by its calendar, against the records of its name.

use calendar::{Timestamp, Timetable, spread_delay_ms};
use domain::{Millis, schedule_partition};
use store::{Page, Plan, TriggerRange};

use crate::{Town, absence::Check, call::in_time, error::Error, ms, plans::definition};

/// Instants of one look.
const INSTANTS: usize = 64;
/// Records of a page, and pages of one look.
const RECORDS: (usize, usize) = (128, 4);

/// What a look found.
#[derive(Debug)]
pub(crate) struct Finding {
    /// Instants without a record, whose time and grace are over.
    pub(crate) missing: Vec<Millis>,
    /// Up to here all was looked at.
    pub(crate) after: Millis,
    /// When the next look is worth it; none where no further instant comes.
    pub(crate) next: Option<Millis>,
}

/// The instants of a schedule, and when the record of each must be there.
struct Instants {
    name: String,
    timetable: Timetable,
    spread_ms: i64,
    grace_ms: i64,
}

impl Instants {
    /// The first instant after another, and until when its record must be there.
    fn after(&self, after: Millis) -> Option<(Millis, Millis)> {
        let next = |after: Millis| {
            let after = Timestamp::from_millisecond(after).ok()?;
            self.timetable.next_after(after).map(|fire| fire.at)
        };
        let planned = next(after)?;
        let following = next(planned.as_millisecond());
        let delay = spread_delay_ms(&self.name, self.spread_ms, planned, following);
        let planned_at = planned.as_millisecond();
        Some((planned_at, planned_at + delay + self.grace_ms))
    }
}

/// Looks at a schedule; none where it is none of the watchdog's business any more, until it is listed again.
pub(crate) async fn look(
    town: &Town,
    now: Millis,
    name: &str,
    check: &Check,
) -> Result<Option<Finding>, Error> {
    let store = &town.parts.store;
    if !town.turns.has(schedule_partition(name, store.partitions())) {
        return Ok(None);
    }
    let Some(view) = in_time(store.schedule(name)).await? else {
        return Ok(None);
    };
    let plan = &view.plan;
    if plan.incarnation != check.incarnation || plan.is_paused() || plan.is_used_up() {
        return Ok(None);
    }
    let calendars = town.calendars.refresh(store.as_ref()).await?;
    // A definition that can't be read has no instants that anybody could miss; the scan says that it is bad.
    let Ok(schedule) = definition(&view.spec) else {
        return Ok(None);
    };
    let Ok(timetable) = schedule.when.timetable(|name| calendars.get(name)) else {
        return Ok(None);
    };
    let instants = Instants {
        name: name.to_owned(),
        timetable,
        spread_ms: schedule.spread_ms,
        grace_ms: ms(town.config.absence_grace),
    };
    let mut after = check.after.max(first_own(plan, now, instants.grace_ms));
    let mut due = Vec::new();
    let mut next = instants.after(after);
    while let Some((planned_at, by)) = next.filter(|(_, by)| *by <= now && due.len() < INSTANTS) {
        due.push(planned_at);
        after = planned_at;
        next = instants.after(after);
        debug_assert!(by > planned_at, "a grace is no time");
    }
    let missing = without_record(town, plan, due).await?;
    Ok(Some(Finding {
        missing,
        after,
        next: next.map(|(_, by)| by),
    }))
}

/// Instants up to here are another definition's, or of a pause whose end the scan has had no grace to see.
fn first_own(plan: &Plan, now: Millis, grace_ms: i64) -> Millis {
    let resumed = plan.pause.as_ref().map(|pause| pause.until);
    let fresh = resumed.filter(|until| now - until < grace_ms);
    plan.changed_at.max(fresh.unwrap_or(0))
}

async fn without_record(town: &Town, plan: &Plan, mut due: Vec<Millis>) -> Result<Vec<Millis>, Error> {
    let (Some(first), Some(last)) = (due.first().copied(), due.last().copied()) else {
        return Ok(due);
    };
    let range = TriggerRange {
        until: Some(last + 1),
        newest_first: true,
        ..TriggerRange::default()
    };
    let mut page = Page {
        limit: RECORDS.0,
        cursor: None,
    };
    for _ in 0..RECORDS.1 {
        let part = in_time(town.parts.store.triggers(&plan.name, &range, &page)).await?;
        let mut before_all = false;
        for kept in part.items.iter().filter(|kept| !kept.manual) {
            if kept.incarnation == plan.incarnation {
                due.retain(|at| !(kept.planned_at..=kept.to).contains(at));
            }
            before_all |= kept.planned_at <= first;
        }
        match part.next {
            Some(next) if !before_all && !due.is_empty() => page.cursor = Some(next),
            _ => return Ok(due),
        }
    }
    // So many records by hand in between: what is left can't be told from what was not reached.
    Ok(Vec::new())
}
