//! The whole state of a store as lines of text that must be equal on two stores.

use std::collections::BTreeMap;

use domain::{Millis, Task, TaskId, Token};

use super::new_task::POOL;
use super::play::Player;
use super::step::GRAIN_MS;
use crate::{Error, Page, Plan, TaskEvent, TaskFilter};

/// Rounds times, so that the moments between two calls on a real store do not show.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rounding(Millis);

impl Rounding {
    pub(super) const fn since(start: Millis) -> Self {
        Self(start)
    }

    /// Never stays never; other times become a number of grains since the start.
    pub(super) const fn time(self, at: Millis) -> Millis {
        if at == 0 {
            0
        } else {
            1 + (at - self.0).div_euclid(GRAIN_MS)
        }
    }

    pub(super) fn task(self, task: &mut Task) {
        for at in [
            &mut task.loss_since,
            &mut task.create_time,
            &mut task.update_time,
            &mut task.next_run_time,
            &mut task.expire_at,
            &mut task.ready_at,
            &mut task.dispatched_at,
            &mut task.claimed_at,
            &mut task.finished_at,
            &mut task.deadline,
            &mut task.key_until,
            &mut task.planned_at,
        ] {
            *at = self.time(*at);
        }
        task.lease_token = task.lease_token.map(|_| Token([1; 16]));
    }

    pub(super) fn plan(self, plan: &mut Plan) {
        let mut times = vec![
            &mut plan.cursor,
            &mut plan.next,
            &mut plan.due,
            &mut plan.created_at,
            &mut plan.changed_at,
        ];
        if let Some(pause) = &mut plan.pause {
            times.extend([&mut pause.since, &mut pause.until]);
        }
        if let Some(last) = &mut plan.last {
            times.extend([&mut last.planned_at, &mut last.at]);
        }
        if let Some(last) = &mut plan.last_fired {
            times.extend([&mut last.planned_at, &mut last.at]);
        }
        for at in times {
            *at = self.time(*at);
        }
    }

    fn event(self, event: &mut TaskEvent) {
        event.at = self.time(event.at);
        event.wait_ms = event.wait_ms.div_euclid(GRAIN_MS);
        event.run_ms = event.run_ms.div_euclid(GRAIN_MS);
        event.delay_ms = event.delay_ms.div_euclid(GRAIN_MS);
    }
}

impl Player {
    /// Every task with its timeline and output, the counts, the queues, the batch, the outbox, the statistics, and the
    /// plan table.
    pub(super) async fn snapshot(&mut self, batch: TaskId) -> Result<Vec<String>, Error> {
        let mut lines = self.tasks().await?;
        lines.extend(self.plan_lines().await?);
        let mut stats = self.store.stats(self.partition).await?;
        stats.now = 0;
        stats.by_type.retain(|_, count| *count > 0);
        lines.push(format!("{stats:?}"));
        let queues = self.store.queues(self.partition, &[POOL.into()]).await?;
        for mut queue in queues.into_iter().filter(|queue| queue.ready > 0) {
            queue.oldest = self.rounding.time(queue.oldest);
            lines.push(format!("{queue:?}"));
        }
        if let Some(mut counts) = self.store.batch(batch).await? {
            counts.by_status.retain(|_, count| *count > 0);
            lines.push(format!("{counts:?}"));
        }
        for entry in self.store.outbox(self.partition, 0, 10_000).await? {
            for mut event in entry.events {
                self.rounding.event(&mut event);
                lines.push(format!("{event:?}"));
            }
        }
        let mut sums: BTreeMap<String, u64> = BTreeMap::new();
        for (_, field, count) in self.store.hours(0).await? {
            if !field.ends_with("_ms") {
                *sums.entry(field).or_default() += count;
            }
        }
        lines.push(format!(
            "{sums:?} {:?}",
            self.store.recorded(self.partition).await?
        ));
        Ok(lines)
    }

    async fn tasks(&self) -> Result<Vec<String>, Error> {
        let page = Page {
            limit: 1_000,
            cursor: None,
        };
        let mut views = self.store.list(&TaskFilter::default(), &page).await?.items;
        views.sort_by_key(|view| view.task.id);
        let mut lines = Vec::new();
        for mut view in views {
            let (id, version) = (view.task.id, view.task.version);
            let violations = domain::check_task(&view.task);
            self.rounding.task(&mut view.task);
            lines.push(format!("{view:?} {violations:?}"));
            let timeline = self.store.timeline(id).await?;
            let violations = domain::check_timeline(&timeline);
            lines.push(format!(
                "{id} ends at {:?} of {version} {violations:?}",
                timeline.last().map(|item| item.version)
            ));
            for mut item in timeline {
                item.at = self.rounding.time(item.at);
                lines.push(format!("{id} {item:?}"));
            }
            let output = self.store.output(id, None).await?;
            lines.push(format!(
                "{id} {:?}",
                output.map(|(_, text)| text).unwrap_or_default()
            ));
        }
        Ok(lines)
    }
}
