//! Lists of tasks, newest first.

use std::cmp::Reverse;

use domain::{Millis, TaskId};

use super::State;
use crate::{Error, Listed, Page, TaskFilter, TaskView};

/// Most tasks of a page.
const PAGE_MAX: usize = 1_000;

/// Lists go by creation, then by id; the cursor names the last task that was given.
pub(super) fn list(state: &State, filter: &TaskFilter, page: &Page, clock: Millis) -> Result<Listed, Error> {
    let after = page.cursor.as_deref().map(parse).transpose()?;
    let mut found: Vec<((Millis, TaskId), TaskView)> = Vec::new();
    for shard in &state.shards {
        let now = clock.max(shard.now);
        let views = shard.order.values().filter_map(|id| shard.view(*id, now));
        found.extend(
            views
                .map(|view| ((view.task.create_time, view.task.id), view))
                .filter(|(at, view)| after.is_none_or(|after| *at < after) && fits(filter, view)),
        );
    }
    found.sort_by_key(|(at, _)| Reverse(*at));
    let limit = page.limit.clamp(1, PAGE_MAX);
    let more = found.len() > limit;
    found.truncate(limit);
    let next = found
        .last()
        .filter(|_| more)
        .map(|((at, id), _)| format!("{at}.{id}"));
    let items = found.into_iter().map(|(_, view)| view).collect();
    Ok(Listed { items, next })
}

fn parse(cursor: &str) -> Result<(Millis, TaskId), Error> {
    cursor
        .split_once('.')
        .and_then(|(at, id)| Some((at.parse().ok()?, id.parse().ok()?)))
        .ok_or_else(|| Error::Corrupt("cursor is not one that a list gave".into()))
}

fn fits(filter: &TaskFilter, view: &TaskView) -> bool {
    let task = &view.task;
    let is = |wanted: &Option<String>, has: &String| wanted.as_ref().is_none_or(|it| it == has);
    is(&filter.task_type, &task.task_type)
        && is(&filter.schedule, &task.schedule_id)
        && is(&filter.error_code, &task.error_code)
        && filter.status.is_none_or(|status| status == task.status)
        && filter.tier.is_none_or(|tier| tier == task.tier)
        && filter.batch.is_none_or(|batch| Some(batch) == task.batch_id)
        && filter.since.is_none_or(|since| task.create_time >= since)
        && filter.until.is_none_or(|until| task.create_time < until)
}
