//! Lists of tasks, newest first, merged over the partitions.

use domain::TaskId;
use store::{Error, Listed, Page, TaskFilter, TaskView};

use crate::connect::RedisStore;

/// Tasks looked at for one page before it is answered short.
const LOOK_MAX: usize = 4_000;
/// Most tasks of a page.
const PAGE_MAX: usize = 1_000;

/// How far the list of one partition has been read: entries before this absolute position are still to come.
type Positions = Vec<u64>;

impl RedisStore {
    pub(crate) async fn list_tasks(&self, filter: &TaskFilter, page: &Page) -> Result<Listed, Error> {
        let limit = page.limit.clamp(1, PAGE_MAX);
        let mut positions = match &page.cursor {
            Some(cursor) => parse(cursor, self.partitions)?,
            None => self.ends(filter).await?,
        };
        let mut trimmed = vec![0; self.partitions.into()];
        let mut listed = Listed::default();
        let mut looked = 0;
        while listed.items.len() < limit && looked < LOOK_MAX {
            let merged = self
                .newest(filter, &positions, &mut trimmed, limit - listed.items.len())
                .await?;
            if merged.is_empty() {
                return Ok(listed);
            }
            looked += merged.len();
            for (partition, _) in &merged {
                positions[usize::from(*partition)] -= 1;
            }
            listed.items.extend(self.matching(filter, &merged).await?);
        }
        let more = positions
            .iter()
            .zip(&trimmed)
            .any(|(position, trimmed)| position > trimmed);
        listed.next = more.then(|| positions.iter().map(u64::to_string).collect::<Vec<_>>().join("."));
        Ok(listed)
    }

    async fn ends(&self, filter: &TaskFilter) -> Result<Positions, Error> {
        let mut ends = Vec::with_capacity(self.partitions.into());
        for partition in 0..self.partitions {
            ends.push(self.window(partition, filter.batch, 0..0).await?.end);
        }
        Ok(ends)
    }

    /// The `most` newest ids before the positions, with their partitions; of each partition a run without a hole.
    /// Notes how much of each list was trimmed.
    async fn newest(
        &self,
        filter: &TaskFilter,
        positions: &Positions,
        trimmed: &mut Positions,
        most: usize,
    ) -> Result<Vec<(u16, TaskId)>, Error> {
        let share = (most / usize::from(self.partitions) + 8) as u64;
        let mut tails: Vec<Vec<TaskId>> = Vec::with_capacity(positions.len());
        let mut whole = Vec::with_capacity(positions.len());
        for ((partition, position), trimmed) in (0..self.partitions).zip(positions).zip(trimmed) {
            let asked = position.saturating_sub(share)..*position;
            let window = self.window(partition, filter.batch, asked.clone()).await?;
            *trimmed = window.trimmed;
            whole.push(asked.start <= window.trimmed);
            tails.push(window.ids);
        }
        Ok(merge(&mut tails, &whole, most))
    }

    async fn matching(&self, filter: &TaskFilter, merged: &[(u16, TaskId)]) -> Result<Vec<TaskView>, Error> {
        let mut found: Vec<Option<TaskView>> = vec![None; merged.len()];
        for partition in 0..self.partitions {
            let mine: Vec<_> = merged
                .iter()
                .enumerate()
                .filter(|(_, (of, _))| *of == partition)
                .collect();
            if mine.is_empty() {
                continue;
            }
            let ids: Vec<_> = mine.iter().map(|(_, (_, id))| *id).collect();
            for view in self.views(partition, &ids).await? {
                if let Some((at, _)) = mine.iter().find(|(_, (_, id))| *id == view.task.id) {
                    found[*at] = Some(view);
                }
            }
        }
        Ok(found
            .into_iter()
            .flatten()
            .filter(|view| fits(filter, view))
            .collect())
    }
}

/// Takes the largest id again and again; stops where a partition ran dry that has more.
fn merge(tails: &mut [Vec<TaskId>], whole: &[bool], most: usize) -> Vec<(u16, TaskId)> {
    let mut merged = Vec::new();
    while merged.len() < most {
        let newest = tails
            .iter()
            .enumerate()
            .filter_map(|(at, tail)| Some((*tail.last()?, at)))
            .max();
        let Some((id, at)) = newest else { break };
        tails[at].pop();
        merged.push((u16::try_from(at).unwrap_or(0), id));
        if tails[at].is_empty() && !whole[at] {
            break;
        }
    }
    merged
}

fn fits(filter: &TaskFilter, view: &TaskView) -> bool {
    let task = &view.task;
    filter
        .task_type
        .as_ref()
        .is_none_or(|name| *name == task.task_type)
        && filter.status.is_none_or(|status| status == task.status)
        && filter.tier.is_none_or(|tier| tier == task.tier)
        && filter
            .schedule
            .as_ref()
            .is_none_or(|schedule| *schedule == task.schedule_id)
        && filter
            .error_code
            .as_ref()
            .is_none_or(|code| *code == task.error_code)
        && filter.since.is_none_or(|since| task.create_time >= since)
        && filter.until.is_none_or(|until| task.create_time < until)
}

fn parse(cursor: &str, partitions: u16) -> Result<Positions, Error> {
    let positions: Result<Positions, _> = cursor.split('.').map(str::parse).collect();
    positions
        .ok()
        .filter(|positions| positions.len() == usize::from(partitions))
        .ok_or_else(|| Error::Corrupt("cursor is not one that a list gave".into()))
}
