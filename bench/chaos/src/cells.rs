//! The matrix: what is hurt, how, and in which order.

use std::fmt;

use crate::random::Random;

/// What is hurt: one replica of a service, or a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Target {
    Scheduler,
    Dispatcher,
    Executor,
    Recorder,
    Gateway,
    Nats,
    Redis,
}

impl Target {
    pub(crate) const ALL: [Self; 7] = [
        Self::Scheduler,
        Self::Dispatcher,
        Self::Executor,
        Self::Recorder,
        Self::Gateway,
        Self::Nats,
        Self::Redis,
    ];
    pub(crate) const SERVICES: [Self; 5] = [
        Self::Gateway,
        Self::Scheduler,
        Self::Dispatcher,
        Self::Recorder,
        Self::Executor,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Scheduler => "scheduler",
            Self::Dispatcher => "dispatcher",
            Self::Executor => "executor",
            Self::Recorder => "recorder",
            Self::Gateway => "gateway",
            Self::Nats => "nats",
            Self::Redis => "redis",
        }
    }
}

/// How it is hurt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Fault {
    /// SIGKILL, and a new one a second later.
    Kill,
    /// SIGSTOP for longer than the lease, then SIGCONT.
    Stop,
    /// SIGTERM, and a new one at once.
    Restart,
    /// Its connections to NATS and Redis (or all to this server) are cut or fall silent for longer than the lease.
    Cut,
}

impl Fault {
    pub(crate) const ALL: [Self; 4] = [Self::Kill, Self::Stop, Self::Restart, Self::Cut];

    const fn name(self) -> &'static str {
        match self {
            Self::Kill => "SIGKILL",
            Self::Stop => "SIGSTOP+SIGCONT",
            Self::Restart => "restart",
            Self::Cut => "connection cut",
        }
    }
}

/// One square of the matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Cell {
    pub(crate) target: Target,
    pub(crate) fault: Fault,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.target.name(), self.fault.name())
    }
}

/// Every cell again and again, in an order of its own in every round.
pub(crate) struct Order {
    random: Random,
    left: Vec<Cell>,
}

impl Order {
    pub(crate) const fn new(seed: u64) -> Self {
        Self {
            random: Random::new(seed),
            left: Vec::new(),
        }
    }
}

impl Iterator for Order {
    type Item = Cell;

    fn next(&mut self) -> Option<Cell> {
        if self.left.is_empty() {
            let cells = |target| Fault::ALL.into_iter().map(move |fault| Cell { target, fault });
            self.left = Target::ALL.into_iter().flat_map(cells).collect();
            self.random.shuffle(&mut self.left);
        }
        self.left.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_same_seed_is_the_same_order_and_a_round_has_every_cell() {
        let order = |seed| Order::new(seed).take(56).collect::<Vec<_>>();
        assert_eq!(order(7), order(7));
        assert_ne!(order(7), order(8));
        let rounds = order(7);
        for round in rounds.chunks(28) {
            assert_eq!(round.iter().collect::<BTreeSet<_>>().len(), 28);
        }
        assert_ne!(rounds[..28], rounds[28..]);
    }
}
