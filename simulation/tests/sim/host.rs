//! The host as a simulated process sees it: its clocks and its randomness.
//!
//! The two functions of the C library are put in front of the real ones, for this test binary alone. On a thread that
//! simulates, time is that of the simulation and randomness comes from the seed, in everything that runs there: our
//! code, tokio, the hash maps of the standard library. On every other thread they do what they always do.

// Functions with a C interface can be written in no other way.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::{c_int, c_long, c_uint, c_void};

use tokio::time::Instant;

use crate::rng::Rng;

/// When a simulation begins, by a clock that is right: milliseconds since the epoch.
pub(crate) const START_MS: i64 = 1_764_460_800_000;
/// The monotonic clock at that moment, in microseconds: some time after the boot.
const BOOTED_US: i64 = 1_000_000_000_000;

thread_local! {
    static HOST: Host = const { Host::real() };
}

struct Host {
    simulates: Cell<bool>,
    /// Microseconds since the start; in a slice those at its begin.
    at_us: Cell<i64>,
    /// The clock of the process that runs, when its slice began.
    slice: Cell<Option<Instant>>,
    /// How far the wall clock of that process is off.
    skew_ms: Cell<i64>,
    entropy: Cell<u64>,
}

impl Host {
    const fn real() -> Self {
        Self {
            simulates: Cell::new(false),
            at_us: Cell::new(0),
            slice: Cell::new(None),
            skew_ms: Cell::new(0),
            entropy: Cell::new(0),
        }
    }

    fn now_us(&self) -> i64 {
        // The clock of a paused runtime asks no other clock, so this does not come back here.
        let run = self.slice.get().map_or(0, |began| {
            i64::try_from((Instant::now() - began).as_micros()).unwrap_or(0)
        });
        self.at_us.get() + run
    }
}

/// Makes this thread one that simulates.
pub(crate) fn simulate(seed: u64) {
    HOST.with(|host| {
        host.simulates.set(true);
        host.at_us.set(0);
        host.entropy.set(seed);
    });
}

/// Microseconds since the start.
pub(crate) fn now_us() -> i64 {
    HOST.with(Host::now_us)
}

/// Sets the time between the slices of processes.
pub(crate) fn set(at_us: i64, skew_ms: i64) {
    HOST.with(|host| {
        host.slice.set(None);
        host.at_us.set(at_us);
        host.skew_ms.set(skew_ms);
    });
}

/// From here on time is that of the runtime that runs.
pub(crate) fn enter_slice() {
    HOST.with(|host| host.slice.set(Some(Instant::now())));
}

/// What the wall clock of the process that runs says, in milliseconds since the epoch.
pub(crate) fn wall_ms() -> i64 {
    HOST.with(|host| START_MS + host.now_us() / 1_000 + host.skew_ms.get())
}

fn read_us(clock: libc::clockid_t) -> Option<i64> {
    HOST.with(|host| {
        if !host.simulates.get() {
            return None;
        }
        match clock {
            libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE => {
                Some((START_MS + host.skew_ms.get()) * 1_000 + host.now_us())
            }
            libc::CLOCK_MONOTONIC
            | libc::CLOCK_MONOTONIC_COARSE
            | libc::CLOCK_MONOTONIC_RAW
            | libc::CLOCK_BOOTTIME => Some(BOOTED_US + host.now_us()),
            _ => None,
        }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(clock: libc::clockid_t, out: *mut libc::timespec) -> c_int {
    let Some(us) = read_us(clock) else {
        // SAFETY: the caller's own call, handed on to the kernel.
        return unsafe { libc::syscall(libc::SYS_clock_gettime, c_long::from(clock), out) } as c_int;
    };
    let time = libc::timespec {
        tv_sec: us / 1_000_000,
        tv_nsec: us % 1_000_000 * 1_000,
    };
    // SAFETY: whoever calls clock_gettime gives a place for the answer.
    unsafe { out.write(time) };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getrandom(to: *mut c_void, length: usize, flags: c_uint) -> isize {
    let seed = HOST.with(|host| host.simulates.get().then(|| host.entropy.get()));
    let Some(seed) = seed else {
        // SAFETY: the caller's own call, handed on to the kernel.
        let filled = unsafe { libc::syscall(libc::SYS_getrandom, to, length, c_long::from(flags)) };
        return filled as isize;
    };
    let mut rng = Rng(seed);
    for at in 0..length {
        let [byte, ..] = rng.next().to_le_bytes();
        // SAFETY: whoever calls getrandom gives so many bytes to fill.
        unsafe { to.cast::<u8>().add(at).write(byte) };
    }
    HOST.with(|host| host.entropy.set(rng.0));
    isize::try_from(length).unwrap_or(isize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_a_thread_that_simulates_time_stands_and_randomness_repeats() {
        let look = || {
            std::thread::spawn(|| {
                simulate(7);
                set(5_000_000, -2_000);
                let wall = runtime::clock::now_ms();
                let before = std::time::Instant::now();
                set(6_000_000, -2_000);
                let map: std::collections::HashMap<_, _> = (0..50).map(|n| (n, ())).collect();
                let order: Vec<i32> = map.into_keys().collect();
                (wall, before.elapsed().as_millis(), store::playing::nonce(), order)
            })
            .join()
            .unwrap()
        };
        let first = look();
        assert_eq!((first.0, first.1), (START_MS + 3_000, 1_000));
        assert_eq!(first, look());
        assert_ne!(store::playing::nonce(), first.2);
        assert!(runtime::clock::now_ms() > START_MS + 1_000_000 || runtime::clock::now_ms() < START_MS);
    }
}
