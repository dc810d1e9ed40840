//! The records of a name, in the order of their instants.

use domain::Millis;

use super::super::shard::Shard;
use crate::{BATCH_MAX, Error, Page, Removed, TRIGGERS_MAX, Trigger, TriggerRange, Triggers};

/// Most records of a page.
const PAGE_MAX: usize = 1_000;

/// The records of one name, of all its incarnations.
#[derive(Debug, Default)]
pub(in super::super) struct Ledger(Vec<Trigger>);

impl Ledger {
    pub(super) fn add(&mut self, trigger: Trigger) {
        let at = self
            .0
            .partition_point(|other| other.planned_at <= trigger.planned_at);
        self.0.insert(at, trigger);
        let surplus = self.0.len().saturating_sub(TRIGGERS_MAX);
        self.0.drain(..surplus);
    }

    /// The record of this very instant.
    pub(super) fn own(&self, incarnation: u64, planned_at: Millis) -> Option<Trigger> {
        self.own_at(incarnation, planned_at).map(|at| self.0[at].clone())
    }

    fn own_at(&self, incarnation: u64, planned_at: Millis) -> Option<usize> {
        self.0.iter().position(|kept| {
            kept.incarnation == incarnation
                && kept.planned_at == planned_at
                && kept.to == planned_at
                && !kept.manual
        })
    }

    /// Takes an instant out of the record that speaks for it: its own, or the range that it lies in.
    pub(super) fn give_up(&mut self, incarnation: u64, planned_at: Millis) {
        if let Some(at) = self.own_at(incarnation, planned_at) {
            self.0.remove(at);
            return;
        }
        let range = self.0.iter().position(|kept| {
            kept.incarnation == incarnation
                && kept.planned_at <= planned_at
                && planned_at <= kept.to
                && kept.to > kept.planned_at
        });
        if let Some(at) = range {
            self.0[at].count -= 1;
            if self.0[at].count == 0 {
                self.0.remove(at);
            }
        }
    }

    fn page(&self, range: &TriggerRange, page: &Page) -> Result<Triggers, Error> {
        let mut found: Vec<_> = self
            .0
            .iter()
            .filter(|kept| range.since.is_none_or(|since| kept.planned_at >= since))
            .filter(|kept| range.until.is_none_or(|until| kept.planned_at < until))
            .cloned()
            .collect();
        if range.newest_first {
            found.reverse();
        }
        let (from, skip) = page.cursor.as_deref().map_or(Ok((None, 0)), parse)?;
        let passed = |kept: &Trigger| match from {
            Some(from) if range.newest_first => kept.planned_at > from,
            Some(from) => kept.planned_at < from,
            None => false,
        };
        let start = found.iter().take_while(|kept| passed(kept)).count() + skip;
        let limit = page.limit.clamp(1, PAGE_MAX);
        let rest = found.split_off(start.min(found.len()));
        let more = rest.len() > limit;
        let items: Vec<_> = rest.into_iter().take(limit).collect();
        let next = items.last().filter(|_| more).map(|last| {
            let shown = items
                .iter()
                .filter(|kept| kept.planned_at == last.planned_at)
                .count();
            let before = if from == Some(last.planned_at) { skip } else { 0 };
            format!("{}.{}", last.planned_at, shown + before)
        });
        Ok(Triggers { items, next })
    }
}

/// The cursor names the last instant that was shown, and how many of its records were.
fn parse(cursor: &str) -> Result<(Option<Millis>, usize), Error> {
    cursor
        .split_once('.')
        .and_then(|(at, shown)| Some((Some(at.parse().ok()?), shown.parse().ok()?)))
        .ok_or_else(|| Error::Corrupt("cursor is not one that a list gave".into()))
}

impl Shard {
    pub(super) fn ledger(&mut self, name: &str) -> &mut Ledger {
        self.ledgers.entry(name.to_owned()).or_default()
    }

    pub(super) fn triggers(&self, name: &str, range: &TriggerRange, page: &Page) -> Result<Triggers, Error> {
        self.ledgers.get(name).map_or_else(
            || Ledger::default().page(range, page),
            |ledger| ledger.page(range, page),
        )
    }

    pub(super) fn retain_triggers(&mut self, age_ms: i64) -> Removed {
        let until = self.now - age_ms;
        let mut removed = Removed::default();
        for ledger in self.ledgers.values_mut() {
            ledger.0.retain(|kept| {
                let old = kept.at <= until;
                removed.more |= old && removed.tasks == BATCH_MAX;
                let goes = old && removed.tasks < BATCH_MAX;
                removed.tasks += usize::from(goes);
                !goes
            });
        }
        self.ledgers.retain(|_, ledger| !ledger.0.is_empty());
        removed
    }
}
