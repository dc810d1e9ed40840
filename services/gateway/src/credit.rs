//! How many tasks the executors of a pool can start right now, as far as this gateway knows.
//!
//! It may be wrong in both directions without harm: too much, and hints wait a moment in their stream; too little,
//! and a task goes the long way over the dispatcher.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use proto::SlotReport;

/// How long a report, or a hint that nobody took, counts.
const TO_LIVE: Duration = Duration::from_secs(3);
/// Executors remembered; further ones get no credit here.
const EXECUTORS_MAX: usize = 10_000;

/// The free slots of every pool. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Credit(Arc<Mutex<HashMap<String, Pool>>>);

#[derive(Debug, Default)]
struct Pool {
    executors: HashMap<String, Executor>,
    /// Hints that this gateway sent and nobody is known to have taken: when, and how many.
    sent: Vec<(Instant, u64)>,
}

/// What an executor said last.
#[derive(Debug, Clone)]
pub(crate) struct Executor {
    pub(crate) slots: u32,
    pub(crate) free: u32,
    pub(crate) taken_total: u64,
    pub(crate) completed_total: u64,
    pub(crate) seen: Instant,
}

impl Credit {
    /// Takes note of a report.
    pub(crate) fn report(&self, report: SlotReport, now: Instant) {
        let mut pools = self.lock();
        let known: usize = pools.values().map(|pool| pool.executors.len()).sum();
        let pool = pools.entry(report.pool).or_default();
        pool.forget(now);
        let before = pool
            .executors
            .get(&report.executor_id)
            .map(|executor| executor.taken_total);
        if before.is_none() && known >= EXECUTORS_MAX {
            return;
        }
        // An executor that started anew counts from 0.
        let taken = before.map_or(0, |before| report.taken_total.saturating_sub(before));
        pool.take(taken);
        let executor = Executor {
            slots: report.slots,
            free: report.free,
            taken_total: report.taken_total,
            completed_total: report.completed_total,
            seen: now,
        };
        pool.executors.insert(report.executor_id, executor);
    }

    /// Takes up to `wanted` of the pool's free slots, for hints that are about to go out.
    pub(crate) fn reserve(&self, pool: &str, wanted: usize, now: Instant) -> usize {
        let mut pools = self.lock();
        let Some(pool) = pools.get_mut(pool) else { return 0 };
        pool.forget(now);
        let free: u64 = pool
            .executors
            .values()
            .map(|executor| u64::from(executor.free))
            .sum();
        let sent: u64 = pool.sent.iter().map(|(_, hints)| hints).sum();
        let granted = free.saturating_sub(sent).min(wanted as u64);
        if granted > 0 {
            pool.sent.push((now, granted));
        }
        usize::try_from(granted).unwrap_or(wanted)
    }

    /// So many hints did not go out after all.
    pub(crate) fn release(&self, pool: &str, hints: usize) {
        if let Some(pool) = self.lock().get_mut(pool) {
            pool.take(hints as u64);
        }
    }

    /// The executors that reported lately, by pool and name.
    pub(crate) fn executors(&self, now: Instant) -> BTreeMap<(String, String), Executor> {
        let mut pools = self.lock();
        let mut all = BTreeMap::new();
        for (name, pool) in pools.iter_mut() {
            pool.forget(now);
            let named = |(id, executor): (&String, &Executor)| ((name.clone(), id.clone()), executor.clone());
            all.extend(pool.executors.iter().map(named));
        }
        pools.retain(|_, pool| !pool.executors.is_empty());
        all
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Pool>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pool {
    fn forget(&mut self, now: Instant) {
        let lives = |seen: Instant| now.saturating_duration_since(seen) < TO_LIVE;
        self.executors.retain(|_, executor| lives(executor.seen));
        self.sent.retain(|(sent, _)| lives(*sent));
    }

    /// Somebody took hints; whose they were can't be told, the oldest of ours are as good as any.
    fn take(&mut self, mut taken: u64) {
        for (_, hints) in &mut self.sent {
            let gone = taken.min(*hints);
            *hints -= gone;
            taken -= gone;
        }
        self.sent.retain(|(_, hints)| *hints > 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(executor: &str, free: u32, taken_total: u64) -> SlotReport {
        SlotReport {
            executor_id: executor.into(),
            pool: "default".into(),
            slots: 8,
            free,
            taken_total,
            ..SlotReport::default()
        }
    }

    #[test]
    fn free_slots_less_the_hints_that_are_on_their_way() {
        let (credit, now) = (Credit::default(), Instant::now());
        assert_eq!(credit.reserve("default", 9, now), 0);
        credit.report(report("a", 4, 10), now);
        credit.report(report("b", 2, 0), now);
        assert_eq!(
            (
                credit.reserve("default", 5, now),
                credit.reserve("default", 99, now)
            ),
            (5, 1)
        );
        credit.release("default", 1);
        assert_eq!(credit.reserve("default", 99, now), 1);
        // Three were taken: from now on they show in what is free.
        credit.report(report("a", 1, 13), now);
        assert_eq!(credit.reserve("default", 99, now), 0);
        credit.report(report("a", 3, 13), now);
        assert_eq!(credit.reserve("default", 99, now), 2);
        assert_eq!(credit.reserve("gpu", 9, now), 0);
    }

    #[test]
    fn reports_and_lost_hints_are_forgotten_after_three_seconds() {
        let (credit, then) = (Credit::default(), Instant::now());
        credit.report(report("a", 4, 0), then);
        assert_eq!(credit.reserve("default", 4, then), 4);
        let later = then + TO_LIVE;
        assert!(
            credit
                .executors(then)
                .contains_key(&("default".into(), "a".into()))
        );
        assert_eq!(credit.reserve("default", 9, later), 0);
        credit.report(report("a", 4, 0), later);
        assert_eq!(credit.reserve("default", 9, later), 4);
    }

    #[test]
    fn an_executor_that_starts_anew_takes_nothing_back() {
        let (credit, now) = (Credit::default(), Instant::now());
        credit.report(report("a", 4, 50), now);
        assert_eq!(credit.reserve("default", 4, now), 4);
        credit.report(report("a", 4, 0), now);
        assert_eq!(credit.reserve("default", 9, now), 0);
    }
}
