//! How much work a pool can take: the free slots that its executors report, and a little ahead.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use domain::DISPATCH_LEASE_MS;
use proto::SlotReport;
use runtime::{Backoff, Shutdown};

use crate::Dispatcher;

/// How long a report is worth something.
const REPORT_TTL: Duration = Duration::from_secs(3);

/// What an executor last said.
struct Executor {
    at: Instant,
    slots: u64,
    free: u64,
    taken: u64,
    completed: u64,
}

/// One pool.
#[derive(Default)]
struct Pool {
    executors: HashMap<String, Executor>,
    /// Hints that were sent and not yet taken, by the time when they were sent.
    sent: VecDeque<(Instant, u64)>,
    /// Completions a second, smoothed.
    rate: f64,
    rated: Option<(Instant, u64)>,
}

/// All pools.
pub(crate) struct Slots {
    window: Duration,
    pools: Mutex<HashMap<String, Pool>>,
}

impl Slots {
    pub(crate) fn new(window: Duration) -> Self {
        Self {
            window,
            pools: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Pool>> {
        self.pools.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn hear(&self, report: &SlotReport, now: Instant) {
        self.lock()
            .entry(report.pool.clone())
            .or_default()
            .hear(report, now);
    }

    /// Tasks that may be sent to the pool now.
    pub(crate) fn credit(&self, pool: &str, now: Instant) -> usize {
        let window = self.window;
        let credit = self
            .lock()
            .get_mut(pool)
            .map_or(0, |pool| pool.credit(window, now));
        usize::try_from(credit).unwrap_or(usize::MAX)
    }

    /// How many of `tasks` go in one hint: all executors of the pool get a share, and none more than an eighth of its
    /// slots, as it hands back what of a hint finds none.
    pub(crate) fn share(&self, pool: &str, tasks: usize) -> usize {
        let pools = self.lock();
        let Some(pool) = pools.get(pool).filter(|pool| !pool.executors.is_empty()) else {
            return 1;
        };
        let fewest = pool.executors.values().map(|executor| executor.slots).min();
        let eighth = usize::try_from(fewest.unwrap_or(0) / 8).unwrap_or(1);
        tasks.div_ceil(pool.executors.len()).min(eighth).max(1)
    }

    pub(crate) fn sent(&self, pool: &str, tasks: usize, now: Instant) {
        if let Some(pool) = self.lock().get_mut(pool) {
            pool.sent.push_back((now, tasks as u64));
        }
    }
}

impl Pool {
    fn hear(&mut self, report: &SlotReport, now: Instant) {
        let heard = Executor {
            at: now,
            slots: report.slots.into(),
            free: report.free.into(),
            taken: report.taken_total,
            completed: report.completed_total,
        };
        let before = self.executors.insert(report.executor_id.clone(), heard);
        // An executor that starts anew begins to count at 0.
        let (taken, completed) = before.map_or((0, 0), |before| (before.taken, before.completed));
        self.taken(report.taken_total.saturating_sub(taken));
        self.rate(report.completed_total.saturating_sub(completed), now);
    }

    fn taken(&mut self, mut tasks: u64) {
        while let Some((_, sent)) = self.sent.front_mut() {
            if *sent > tasks {
                *sent -= tasks;
                return;
            }
            tasks -= *sent;
            self.sent.pop_front();
        }
    }

    fn rate(&mut self, completed: u64, now: Instant) {
        let (since, sum) = self.rated.unwrap_or((now, 0));
        let (sum, age) = (sum + completed, now.duration_since(since).as_secs_f64());
        if age < 0.05 {
            self.rated = Some((since, sum));
            return;
        }
        #[allow(clippy::cast_precision_loss)]
        let measured = sum as f64 / age;
        self.rate = 0.5 * self.rate + 0.5 * measured;
        self.rated = Some((now, 0));
    }

    fn credit(&mut self, window: Duration, now: Instant) -> u64 {
        self.executors
            .retain(|_, executor| now.duration_since(executor.at) < REPORT_TTL);
        let old = Duration::from_millis(DISPATCH_LEASE_MS.unsigned_abs());
        while self
            .sent
            .front()
            .is_some_and(|(at, _)| now.duration_since(*at) > old)
        {
            self.sent.pop_front();
        }
        if self.executors.is_empty() {
            return 0;
        }
        let free: u64 = self.executors.values().map(|executor| executor.free).sum();
        let outstanding: u64 = self.sent.iter().map(|(_, tasks)| tasks).sum();
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let ahead = (self.rate * window.as_secs_f64()) as u64;
        (free + ahead).saturating_sub(outstanding)
    }
}

/// Listens to the reports of all pools.
pub(crate) async fn run(dispatcher: Arc<Dispatcher>, shutdown: Shutdown) {
    shutdown.or_stop(listen(&dispatcher)).await;
}

async fn listen(dispatcher: &Dispatcher) {
    let mut backoff = Backoff::default();
    loop {
        let Ok(mut reports) = dispatcher.parts.bus.slot_reports().await else {
            tokio::time::sleep(backoff.next_wait()).await;
            continue;
        };
        while let Some(report) = reports.next().await {
            dispatcher.slots.hear(&report, Instant::now());
            dispatcher.waiting.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(free: u32, taken: u64, completed: u64) -> SlotReport {
        SlotReport {
            executor_id: "e".into(),
            pool: "p".into(),
            slots: 64,
            free,
            taken_total: taken,
            completed_total: completed,
            sent_at_ms: 0,
        }
    }

    #[test]
    fn what_was_sent_is_owed_until_it_is_taken_or_too_old() {
        let slots = Slots::new(Duration::from_millis(20));
        let start = Instant::now();
        assert_eq!(slots.credit("p", start), 0);
        slots.hear(&report(10, 0, 0), start);
        assert_eq!(slots.credit("p", start), 10);
        slots.sent("p", 10, start);
        assert_eq!(slots.credit("p", start), 0);
        slots.hear(&report(4, 6, 0), start);
        assert_eq!(slots.credit("p", start), 0);
        slots.hear(&report(10, 10, 0), start);
        assert_eq!(slots.credit("p", start), 10);
        slots.sent("p", 10, start);
        let later = start + Duration::from_secs(11);
        slots.hear(&report(10, 10, 0), later);
        assert_eq!(slots.credit("p", later), 10);
    }

    #[test]
    fn hints_are_shared_and_small_against_the_slots() {
        let slots = Slots::new(Duration::from_millis(20));
        assert_eq!(slots.share("p", 64), 1);
        slots.hear(&report(64, 0, 0), Instant::now());
        assert_eq!(
            (slots.share("p", 64), slots.share("p", 3), slots.share("p", 0)),
            (8, 3, 1)
        );
        let other = SlotReport {
            executor_id: "f".into(),
            ..report(64, 0, 0)
        };
        slots.hear(&other, Instant::now());
        assert_eq!(slots.share("p", 6), 3);
    }

    #[test]
    fn a_silent_executor_counts_no_more() {
        let slots = Slots::new(Duration::from_millis(20));
        let start = Instant::now();
        slots.hear(&report(10, 0, 0), start);
        assert_eq!(slots.credit("p", start + Duration::from_secs(4)), 0);
    }

    #[test]
    fn a_fast_pool_gets_work_ahead() {
        let slots = Slots::new(Duration::from_millis(20));
        let start = Instant::now();
        slots.hear(&report(0, 0, 0), start);
        for tick in 1..=40_u32 {
            slots.hear(
                &report(0, 0, u64::from(tick) * 1_000),
                start + tick * Duration::from_millis(100),
            );
        }
        let credit = slots.credit("p", start + Duration::from_secs(4));
        assert!((190..=200).contains(&credit), "{credit}");
    }
}
