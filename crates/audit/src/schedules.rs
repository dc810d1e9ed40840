//! Every planned instant of every schedule has exactly one record, and every fire its one task (I7).

use std::{collections::BTreeMap, sync::Arc};

use calendar::{Timestamp, Timetable, WorkingDays};
use domain::{Millis, Partition, TaskId};
use plan::Schedule;
use store::{AUDIT_PAGE, Page, Plan, ScheduleView, Trigger, TriggerRange};

use crate::{
    Audit, Error,
    instants::{self, shown},
    report::Report,
};

/// Schedules in one read.
const PAGE: usize = 64;
/// Records of a schedule that are looked at, the newest.
const RECORDS_MAX: usize = 2_000;
/// Planned instants of a schedule that are looked at: a range record may stand for many.
const INSTANTS_MAX: usize = 20_000;

type Calendars = BTreeMap<String, Arc<WorkingDays>>;

/// Looks at the schedules of a partition.
pub(crate) async fn look(audit: &Audit, partition: Partition, report: &mut Report) -> Result<(), Error> {
    let mut calendars = None;
    let mut after: Option<String> = None;
    loop {
        let page = audit.store.schedules(partition, after.as_deref(), PAGE).await?;
        for view in &page {
            if calendars.is_none() {
                calendars = Some(read_calendars(audit).await?);
            }
            one(audit, partition, view, calendars.as_ref(), report).await?;
        }
        match page.last() {
            Some(last) if page.len() == PAGE => after = Some(last.plan.name.clone()),
            _ => return Ok(()),
        }
    }
}

async fn read_calendars(audit: &Audit) -> Result<Calendars, Error> {
    let (_, kept) = audit.store.calendars().await?;
    let read = |calendar: store::Calendar| {
        let spec = serde_json::from_slice(&calendar.body).ok()?;
        Some((calendar.name, Arc::new(WorkingDays::new(&spec).ok()?)))
    };
    Ok(kept.into_iter().filter_map(read).collect())
}

async fn one(
    audit: &Audit,
    partition: Partition,
    view: &ScheduleView,
    calendars: Option<&Calendars>,
    report: &mut Report,
) -> Result<(), Error> {
    let plan = &view.plan;
    report.count("schedules", 1);
    let Some(timetable) = timetable(view, calendars) else {
        // The scheduler says that it is bad, and passes over it.
        report.count("schedules whose definition can't be read", 1);
        return Ok(());
    };
    let records = records(audit, plan).await?;
    let mine: Vec<_> = records
        .iter()
        .filter(|record| record.incarnation == plan.incarnation && !record.manual)
        .collect();
    report.count("trigger records", mine.len() as u64);
    // Instants up to the change are another definition's, and records older than the oldest may have left by their age.
    let Some(oldest) = mine.iter().map(|record| record.planned_at).min() else {
        return Ok(());
    };
    let after = plan.changed_at.max(audit.since.unwrap_or(0)).max(oldest - 1);
    let (instants, after) = planned(&timetable, after, plan.cursor);
    report.count("planned instants", instants.len() as u64);
    let checked: Vec<_> = mine.iter().copied().filter(|record| record.to > after).collect();
    for text in instants::compare(&instants, &checked, after, plan.cursor) {
        report.exception("I7", format!("schedule {}", plan.name), text);
    }
    tasks(audit, partition, plan, &mine, report).await
}

fn timetable(view: &ScheduleView, calendars: Option<&Calendars>) -> Option<Timetable> {
    let text = std::str::from_utf8(&view.spec).ok()?;
    let schedule = Schedule::parse(text).ok()?;
    let find = |name: &str| calendars?.get(name).cloned();
    schedule.when.timetable(find).ok()
}

/// The newest records.
async fn records(audit: &Audit, plan: &Plan) -> Result<Vec<Trigger>, Error> {
    let range = TriggerRange {
        // Later ones belong to instants that the cursor did not reach when it was read.
        until: Some(plan.cursor.saturating_add(1)),
        newest_first: true,
        ..TriggerRange::default()
    };
    let mut page = Page {
        limit: 500,
        cursor: None,
    };
    let mut found = Vec::new();
    loop {
        let part = audit.store.triggers(&plan.name, &range, &page).await?;
        found.extend(part.items);
        match part.next {
            Some(next) if found.len() < RECORDS_MAX => page.cursor = Some(next),
            _ => return Ok(found),
        }
    }
}

/// The planned instants after one, up to the cursor; where there are too many, only the last, and after which.
fn planned(timetable: &Timetable, after: Millis, cursor: Millis) -> (Vec<Millis>, Millis) {
    let mut instants = std::collections::VecDeque::new();
    let (mut at, mut after) = (after, after);
    while let Ok(before) = Timestamp::from_millisecond(at)
        && let Some(fire) = timetable.next_after(before)
    {
        at = fire.at.as_millisecond();
        if at > cursor {
            break;
        }
        instants.push_back(at);
        if instants.len() > INSTANTS_MAX
            && let Some(dropped) = instants.pop_front()
        {
            after = dropped;
        }
    }
    (instants.into(), after)
}

/// Every fire's task is there, or has left as it ended; no task stands for two instants.
async fn tasks(
    audit: &Audit,
    partition: Partition,
    plan: &Plan,
    records: &[&Trigger],
    report: &mut Report,
) -> Result<(), Error> {
    let mut of: BTreeMap<TaskId, Millis> = BTreeMap::new();
    for record in records {
        let Some(task) = record.task else { continue };
        if let Some(other) = of.insert(task, record.planned_at) {
            let (one, two) = (shown(other), shown(record.planned_at));
            let text = format!("task {task} stands for two instants, {one} and {two}");
            report.exception("I7", format!("schedule {}", plan.name), text);
        }
    }
    let ids: Vec<_> = of.keys().copied().collect();
    for part in ids.chunks(AUDIT_PAGE) {
        for found in audit.store.audit_tasks(partition, part).await?.tasks {
            let task = &found.task;
            if task.schedule_id != plan.name || task.planned_at != of[&task.id] {
                let (instant, named) = (shown(of[&task.id]), &task.schedule_id);
                let text = format!(
                    "the task {} of instant {instant} says it is of {named:?}",
                    task.id
                );
                report.exception("I7", format!("schedule {}", plan.name), text);
            }
        }
        report.count("tasks of fires", part.len() as u64);
    }
    Ok(())
}
