//! A process: a runtime of its own, whose time goes on only while it is let run.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::host;
use crate::roles::{self, Role};
use crate::world::{Who, World};

/// One process of the town.
pub(crate) struct Process {
    who: Who,
    pub(crate) role: Role,
    world: Arc<World>,
    running: Option<Running>,
    /// It was stopped in place, and has not been let go on.
    pub(crate) is_stopped: bool,
    /// How far its host's wall clock is off.
    pub(crate) skew_ms: i64,
}

struct Running {
    runtime: Runtime,
    shutdown: runtime::Shutdown,
    main: JoinHandle<()>,
    /// Up to where it ran.
    at_us: i64,
}

impl Process {
    pub(crate) const fn new(who: Who, role: Role, world: Arc<World>) -> Self {
        Self {
            who,
            role,
            world,
            running: None,
            is_stopped: false,
            skew_ms: 0,
        }
    }

    pub(crate) const fn is_up(&self) -> bool {
        self.running.is_some()
    }

    /// Starts it at this moment.
    pub(crate) fn start(&mut self, at_us: i64) {
        host::set(at_us, self.skew_ms);
        let runtime = Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        let shutdown = runtime::Shutdown::new();
        let entered = runtime.enter();
        let main = roles::start(self.role, &self.world, self.who, shutdown.clone());
        drop(entered);
        self.running = Some(Running {
            runtime,
            shutdown,
            main,
            at_us,
        });
    }

    /// Ends it at once: whatever it had in its memory is gone.
    pub(crate) fn kill(&mut self, at_us: i64) {
        host::set(at_us, self.skew_ms);
        drop(self.running.take());
        self.is_stopped = false;
        self.world.bus().forget(self.who);
        self.world.check().forget(self.who);
    }

    /// Starts it unless it runs; one that was asked to end starts anew.
    pub(crate) fn revive(&mut self, at_us: i64) {
        let ends = self
            .running
            .as_ref()
            .is_some_and(|running| running.shutdown.is_triggered());
        if ends {
            self.kill(at_us);
        }
        if self.running.is_none() {
            self.start(at_us);
        }
    }

    /// Asks it to end well.
    pub(crate) fn drain(&mut self) {
        if let Some(running) = &self.running {
            running.shutdown.trigger();
        }
    }

    /// Lets it run up to `until_us`. Where it was stopped meanwhile its timers find that much later than they were set
    /// for, all at once, as after SIGCONT.
    pub(crate) fn run(&mut self, from_us: i64, until_us: i64) {
        let Some(running) = &mut self.running else { return };
        if self.is_stopped {
            return;
        }
        host::set(running.at_us, self.skew_ms);
        let missed_us = from_us - running.at_us;
        running.runtime.block_on(async {
            let began = Instant::now();
            host::enter_slice();
            if missed_us > 0 {
                tokio::time::advance(micros(missed_us)).await;
            }
            tokio::time::sleep_until(began + micros(until_us - running.at_us)).await;
        });
        running.at_us = until_us;
        host::set(until_us, 0);
        if running.main.is_finished() && !running.shutdown.is_triggered() {
            let name = self.world.names[self.who].clone();
            self.world.violated("alive", format!("{name} ended by itself"));
        }
    }
}

fn micros(us: i64) -> Duration {
    Duration::from_micros(u64::try_from(us).unwrap_or(0))
}
