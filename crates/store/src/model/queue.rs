//! The ready queue of one pool and tier: ids by type, the types by virtual time.

use std::collections::{BTreeMap, BTreeSet};

use domain::{Millis, TaskId};

/// Most tasks of one type in one turn.
const QUANTUM: usize = 16;

/// Tasks that wait for their turn.
#[derive(Debug, Default)]
pub(super) struct Line {
    ids: BTreeMap<String, BTreeSet<(Millis, TaskId)>>,
    /// Virtual time of the types that may run and have tasks here.
    turns: BTreeMap<String, u64>,
}

/// A task taken out: id, type, when it was due.
pub(super) type Taken = (TaskId, String, Millis);

impl Line {
    /// Adds a task; whether its type had none before.
    pub(super) fn add(&mut self, task_type: &str, due: Millis, id: TaskId, paused: bool) -> bool {
        let ids = self.ids.entry(task_type.to_owned()).or_default();
        let was_empty = ids.is_empty();
        ids.insert((due, id));
        self.settle(task_type, paused);
        was_empty
    }

    pub(super) fn remove(&mut self, task_type: &str, due: Millis, id: TaskId, paused: bool) {
        if let Some(ids) = self.ids.get_mut(task_type) {
            ids.remove(&(due, id));
        }
        self.settle(task_type, paused);
    }

    /// Keeps the turns true: a type without tasks or paused has none; one that comes anew starts beside the one whose
    /// turn it is, because its absence earned it nothing.
    pub(super) fn settle(&mut self, task_type: &str, paused: bool) {
        let empty = self.ids.get(task_type).is_none_or(BTreeSet::is_empty);
        if empty {
            self.ids.remove(task_type);
        }
        if empty || paused {
            self.turns.remove(task_type);
        } else if !self.turns.contains_key(task_type) {
            let lowest = self.turns.values().min().copied().unwrap_or(0);
            self.turns.insert(task_type.to_owned(), lowest);
        }
    }

    /// Whether no task waits that may run.
    pub(super) fn is_idle(&self) -> bool {
        self.turns.is_empty()
    }

    pub(super) fn has(&self, task_type: &str) -> bool {
        self.ids.contains_key(task_type)
    }

    /// The types that may run and wait, in the order of their turns.
    pub(super) fn types(&self) -> Vec<String> {
        let mut types: Vec<_> = self.turns.iter().map(|(name, at)| (*at, name)).collect();
        types.sort();
        types.into_iter().map(|(_, name)| name.clone()).collect()
    }

    /// Takes up to `limit` tasks of the named types, by turns or by age alone.
    pub(super) fn take(&mut self, named: &[String], limit: usize, oldest: bool) -> Vec<Taken> {
        let mut taken = Vec::new();
        while taken.len() < limit {
            let next = if oldest {
                self.by_age(named)
            } else {
                self.by_turn(named)
            };
            let Some(task_type) = next else { break };
            let most = if oldest { 1 } else { QUANTUM };
            let most = most.min(limit - taken.len());
            for _ in 0..most {
                let Some((due, id)) = self.ids.get_mut(&task_type).and_then(BTreeSet::pop_first) else {
                    break;
                };
                *self.turns.entry(task_type.clone()).or_default() += 1;
                taken.push((id, task_type.clone(), due));
            }
            self.settle(&task_type, false);
        }
        taken
    }

    fn by_turn(&self, named: &[String]) -> Option<String> {
        self.types().into_iter().find(|name| named.contains(name))
    }

    fn by_age(&self, named: &[String]) -> Option<String> {
        let head = |name: &&String| {
            self.ids
                .get(*name)
                .and_then(|ids| ids.first())
                .map_or(Millis::MAX, |(due, _)| *due)
        };
        self.turns
            .keys()
            .filter(|name| named.contains(name))
            .min_by_key(|name| (head(name), *name))
            .cloned()
    }

    /// Tasks that wait and may run.
    pub(super) fn ready(&self) -> u64 {
        self.turns.keys().map(|name| self.count(name)).sum()
    }

    pub(super) fn count(&self, task_type: &str) -> u64 {
        self.ids.get(task_type).map_or(0, |ids| ids.len() as u64)
    }

    /// When the oldest task that may run was due; 0 if none waits.
    pub(super) fn oldest(&self) -> Millis {
        self.turns
            .keys()
            .filter_map(|name| self.ids.get(name)?.first())
            .map(|(due, _)| *due)
            .min()
            .unwrap_or(0)
    }
}
