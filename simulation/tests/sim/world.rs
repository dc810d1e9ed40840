//! What all processes of one simulation share: the store, the bus, the faults of the moment, the checks, the trace.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::{Millis, Violation};
use store::{Clock, Model};

use crate::bus::Server;
use crate::check::Check;
use crate::host;
use crate::mutation::Mutation;
use crate::rng::Rng;

/// A process, by its number.
pub(crate) type Who = usize;

/// How long a claim lasts without a heartbeat.
pub(crate) const LEASE_MS: i64 = 2_000;
/// Most lines of a trace.
const TRACE_MAX: usize = 200_000;

/// What goes wrong between the store and who asks it.
#[derive(Debug, Clone, Default)]
pub(crate) struct StoreWeather {
    /// Calls that never arrive, and answers that never do, in thousandths each.
    pub(crate) lost: i64,
    /// Calls that take long.
    pub(crate) slow: i64,
    /// Nobody reaches it.
    pub(crate) down: bool,
    /// Those who don't.
    pub(crate) cut: Vec<Who>,
}

/// One simulation.
pub(crate) struct World {
    pub(crate) names: Vec<String>,
    pub(crate) model: Model,
    pub(crate) mutation: Option<Mutation>,
    bus: Mutex<Server>,
    weather: Mutex<StoreWeather>,
    rng: Mutex<Rng>,
    check: Mutex<Check>,
    trace: Mutex<Trace>,
    /// The right time at the last call; slices run one after the other, and time stands for those that lag behind.
    clock: AtomicI64,
}

/// What happened: as a number always, as text where somebody reads it.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    pub(crate) steps: u64,
    pub(crate) digest: u64,
    pub(crate) lines: Option<Vec<String>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl World {
    pub(crate) fn new(
        names: Vec<String>,
        partitions: u16,
        mutation: Option<Mutation>,
        traced: bool,
        rng: &mut Rng,
    ) -> Arc<Self> {
        let model = Model::new(partitions, Clock::standing(host::START_MS));
        let model = match mutation {
            Some(Mutation::DispatchWithoutLease) => model.without_dispatch_lease(),
            _ => model,
        };
        Arc::new(Self {
            names,
            model,
            mutation,
            bus: Mutex::new(Server::new(rng.fork())),
            weather: Mutex::default(),
            rng: Mutex::new(rng.fork()),
            check: Mutex::new(Check::default()),
            trace: Mutex::new(Trace {
                lines: traced.then(Vec::new),
                ..Trace::default()
            }),
            clock: AtomicI64::new(host::START_MS),
        })
    }

    pub(crate) fn bus(&self) -> MutexGuard<'_, Server> {
        lock(&self.bus)
    }

    pub(crate) fn weather(&self) -> MutexGuard<'_, StoreWeather> {
        lock(&self.weather)
    }

    pub(crate) fn rng(&self) -> MutexGuard<'_, Rng> {
        lock(&self.rng)
    }

    pub(crate) fn check(&self) -> MutexGuard<'_, Check> {
        lock(&self.check)
    }

    /// The right time, in milliseconds since the epoch. The store's clock goes by it, and by nothing else.
    pub(crate) fn now_ms(&self) -> Millis {
        host::START_MS + host::now_us() / 1_000
    }

    /// Moves the store's clock to now; the right time.
    pub(crate) fn tick(&self) -> Millis {
        let now = self.now_ms().max(self.clock.load(Relaxed));
        self.clock.store(now, Relaxed);
        let clock = self.model.clock();
        let target = if self.mutation == Some(Mutation::TrustHostClock) {
            host::wall_ms()
        } else {
            now
        };
        clock.advance(target - clock.now());
        now
    }

    pub(crate) fn store_down(&self, now_us: i64) {
        self.weather().down = true;
        let now = host::START_MS + now_us / 1_000;
        self.check().outages.push((now, Millis::MAX / 4));
    }

    pub(crate) fn store_up(&self, now_us: i64) {
        self.weather().down = false;
        let now = host::START_MS + now_us / 1_000;
        for (_, end) in &mut self.check().outages {
            *end = now.min(*end);
        }
    }

    /// Checks that no hint was acked before its tasks were claimed.
    pub(crate) fn check_acks(&self) {
        let acked = std::mem::take(&mut self.bus().acked_work);
        for (who, letter) in acked {
            self.check().acked(who, &letter);
        }
    }

    /// Notes a step.
    pub(crate) fn step(&self, who: Who, what: &str, how: u64) {
        let mut trace = lock(&self.trace);
        trace.steps += 1;
        let now_us = host::now_us();
        let words = [now_us.unsigned_abs(), who as u64, how];
        let bytes = what.bytes().map(u64::from);
        for word in words.into_iter().chain(bytes) {
            trace.digest = (trace.digest ^ word)
                .wrapping_mul(0x0100_0000_01b3)
                .rotate_left(23);
        }
    }

    /// Writes a line, where somebody reads it.
    pub(crate) fn trace(&self, line: impl FnOnce() -> String) {
        let mut trace = lock(&self.trace);
        if let Some(lines) = &mut trace.lines
            && lines.len() < TRACE_MAX
        {
            let now_us = host::now_us();
            let mut text = format!("{:>4}.{:06} ", now_us / 1_000_000, now_us % 1_000_000);
            let _ = write!(text, "{}", line());
            lines.push(text);
        }
    }

    /// Takes the trace out.
    pub(crate) fn told(&self) -> Trace {
        std::mem::take(&mut *lock(&self.trace))
    }

    /// Something that must never be.
    pub(crate) fn violated(&self, invariant: &'static str, evidence: String) {
        self.check().found.push(Violation { invariant, evidence });
    }
}
