//! Many seeds, one seed again, and seeds with a fault put in on purpose.

use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use crate::mutation::Mutation;
use crate::run::{Outcome, run};

/// Seeds of an ordinary run; `GENGFU_SIM_SEEDS` asks for more.
const SEEDS: u64 = 200;
/// Seeds within which a fault must be found.
const FOUND_WITHIN: u64 = 400;

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is a number, not {text:?}")),
    )
}

/// Runs seeds on all cores until one fails or none is left; the outcomes that failed.
fn run_all(
    from: u64,
    count: u64,
    mutation: Option<Mutation>,
    fails: impl Fn(&Outcome) -> bool + Sync,
) -> Totals {
    let next = AtomicU64::new(from);
    let totals = Mutex::new(Totals::default());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Relaxed);
                    if seed >= from + count || totals.lock().unwrap().failed.is_some() {
                        return;
                    }
                    let outcome = run(seed, mutation, false);
                    let mut totals = totals.lock().unwrap();
                    totals.add(&outcome);
                    if fails(&outcome) {
                        totals.failed.get_or_insert(outcome);
                    }
                }
            });
        }
    });
    totals.into_inner().unwrap()
}

#[derive(Default)]
struct Totals {
    seeds: u64,
    steps: u64,
    tasks: usize,
    lasted_ms: i64,
    failed: Option<Outcome>,
}

impl Totals {
    fn add(&mut self, outcome: &Outcome) {
        self.seeds += 1;
        self.steps += outcome.trace.steps;
        self.tasks += outcome.tasks;
        self.lasted_ms += outcome.lasted_ms;
    }
}

/// What failed, with the steps that led to it, and how to see it again.
fn told(outcome: &Outcome, mutation: Option<Mutation>) -> String {
    let again = run(outcome.seed, mutation, true);
    let mut text = String::new();
    for line in again.trace.lines.iter().flatten() {
        let _ = writeln!(text, "{line}");
    }
    for found in &again.found {
        let _ = writeln!(text, "{found}");
    }
    let _ = writeln!(
        text,
        "seed {} fails; again: GENGFU_SIM_SEED={}",
        outcome.seed, outcome.seed
    );
    text
}

#[test]
fn every_seed_keeps_the_invariants() {
    if let Some(seed) = number("GENGFU_SIM_SEED") {
        let outcome = run(seed, None, false);
        eprintln!("{}", told(&outcome, None));
        assert!(outcome.found.is_empty(), "seed {seed} fails: {:?}", outcome.found);
        return;
    }
    let count = number("GENGFU_SIM_SEEDS").unwrap_or(SEEDS);
    let began = Instant::now();
    let totals = run_all(number("GENGFU_SIM_FROM").unwrap_or(1), count, None, |outcome| {
        !outcome.found.is_empty()
    });
    let took = began.elapsed().as_secs_f64();
    #[allow(clippy::cast_precision_loss)]
    let minute = totals.seeds as f64 * 60.0 / took;
    eprintln!(
        "{} seeds in {took:.1} s, {minute:.0} a minute: {} tasks, {} calls, {:.1} h simulated",
        totals.seeds,
        totals.tasks,
        totals.steps,
        totals.lasted_ms as f64 / 3_600_000.0,
    );
    if let Some(failed) = &totals.failed {
        panic!("{}", told(failed, None));
    }
}

#[test]
fn a_seed_replays_exactly() {
    for seed in [3, 41, 1_000_003] {
        let (first, again) = (run(seed, None, false), run(seed, None, true));
        assert_eq!(
            (first.trace.steps, first.trace.digest),
            (again.trace.steps, again.trace.digest)
        );
        assert!(first.trace.steps > 500, "{} steps", first.trace.steps);
        assert_ne!(first.trace.digest, run(seed + 1, None, false).trace.digest);
    }
}

#[test]
fn every_fault_put_in_is_found() {
    for mutation in Mutation::ALL {
        let totals = run_all(1, FOUND_WITHIN, Some(mutation), |outcome| {
            outcome.broke(mutation.breaks())
        });
        let Some(outcome) = totals.failed else {
            panic!("{mutation:?} was not found in {FOUND_WITHIN} seeds");
        };
        eprintln!(
            "{mutation:?}: seed {} after {} seeds, {}",
            outcome.seed, totals.seeds, outcome.found[0]
        );
    }
}
