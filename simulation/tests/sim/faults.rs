//! What goes wrong in a seed, and when.

use crate::bus::Weather;
use crate::people::BUSY_MS;
use crate::process::Process;
use crate::rng::Rng;
use crate::roles::Role;
use crate::world::{StoreWeather, Who, World};

/// One thing that happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Act {
    Kill(Who),
    Start(Who),
    /// Stopped in place, as by SIGSTOP.
    Stop(Who),
    Go(Who),
    Drain(Who),
    StoreDown,
    StoreUp,
    /// One process reaches the store no more.
    Cut(Who),
    Join(Who),
    BusDown,
    BusUp {
        wiped: bool,
    },
    /// The wall clock of a host jumps.
    Jump(Who, i64),
}

/// Acts by their time in microseconds.
pub(crate) type Acts = Vec<(i64, Act)>;

/// The weather of a seed: some are calm, some are wild.
pub(crate) fn weather(rng: &mut Rng) -> (StoreWeather, Weather) {
    let store = StoreWeather {
        lost: *rng.pick(&[0, 0, 10, 60]),
        slow: *rng.pick(&[0, 30, 200]),
        ..StoreWeather::default()
    };
    let bus = Weather {
        lost: *rng.pick(&[0, 20, 150]),
        repeated: *rng.pick(&[0, 30, 200]),
        late: *rng.pick(&[0, 30, 200]),
    };
    (store, bus)
}

/// The acts of a seed, in the order of their time. Whatever they break is mended when they are over.
pub(crate) fn acts(rng: &mut Rng, processes: &[Process]) -> Acts {
    let mut acts = Acts::new();
    let town: Vec<Who> = (0..processes.len())
        .filter(|who| processes[*who].role != Role::People)
        .collect();
    for _ in 0..rng.range(2, 7) {
        let at_us = rng.range(200, BUSY_MS) * 1_000;
        let who = *rng.pick(&town);
        let after = |ms: i64| at_us + ms * 1_000;
        match rng.range(0, 11) {
            0..=2 => {
                acts.push((at_us, Act::Kill(who)));
                acts.push((after(rng.range(50, 4_000)), Act::Start(who)));
            }
            3..=5 => {
                acts.push((at_us, Act::Stop(who)));
                acts.push((after(rng.range(20, 6_000)), Act::Go(who)));
            }
            6 => {
                let end_ms = rng.range(200, 3_000);
                acts.push((at_us, Act::Drain(who)));
                acts.push((after(end_ms), Act::Kill(who)));
                acts.push((after(end_ms + 100), Act::Start(who)));
            }
            7..=8 => {
                acts.push((at_us, Act::StoreDown));
                acts.push((after(rng.range(100, 5_000)), Act::StoreUp));
            }
            9 => {
                acts.push((at_us, Act::Cut(who)));
                acts.push((after(rng.range(100, 5_000)), Act::Join(who)));
            }
            10 => {
                let wiped = rng.chance(300);
                acts.push((at_us, Act::BusDown));
                acts.push((after(rng.range(10, 3_000)), Act::BusUp { wiped }));
            }
            _ => acts.push((
                at_us,
                Act::Jump(who, *rng.pick(&[-3_600_000, -5_000, 5_000, 3_600_000])),
            )),
        }
    }
    acts.sort();
    acts
}

/// Does one of them.
pub(crate) fn happen(act: Act, now_us: i64, world: &World, processes: &mut [Process]) {
    world.trace(|| format!("-- {act:?}"));
    match act {
        Act::Kill(who) => processes[who].kill(now_us),
        Act::Start(who) if processes[who].is_up() => {}
        Act::Start(who) => processes[who].start(now_us),
        Act::Stop(who) => processes[who].is_stopped = processes[who].is_up(),
        Act::Go(who) => processes[who].is_stopped = false,
        Act::Drain(who) => processes[who].drain(),
        Act::StoreDown => world.store_down(now_us),
        Act::StoreUp => world.store_up(now_us),
        Act::Cut(who) => world.weather().cut.push(who),
        Act::Join(who) => world.weather().cut.retain(|other| *other != who),
        Act::BusDown => world.bus().stop(),
        Act::BusUp { wiped } => {
            world.check().wiped |= wiped;
            world.bus().start(wiped, now_us);
        }
        Act::Jump(who, ms) => processes[who].skew_ms += ms,
    }
}

/// Mends everything: from here on the town has to come to rest.
pub(crate) fn heal(now_us: i64, world: &World, processes: &mut [Process]) {
    world.trace(|| "-- no more faults".into());
    world.store_up(now_us);
    *world.weather() = StoreWeather::default();
    let up = {
        let mut bus = world.bus();
        bus.weather = Weather::default();
        bus.up
    };
    if !up {
        world.bus().start(false, now_us);
    }
    for process in processes {
        process.is_stopped = false;
        process.revive(now_us);
    }
}
