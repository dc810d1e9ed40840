//! Who asks often in which partition. Replicas without the turn stand by and ask at a tenth of the pace, so that a
//! scheduler that dies leaves no gap, and several together cost the store little more than one.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use domain::Partition;

use crate::{
    Town,
    beat::{Duty, Next},
    call::in_time,
    error::Error,
    ms,
};

/// How long a turn lasts that is not renewed.
const TURN: Duration = Duration::from_secs(3);
/// How often turns are renewed or asked for.
const RENEW_EVERY: Duration = Duration::from_secs(1);
/// Rest of those without the turn: with it an expired lease is still taken back within 2 s (I4).
const STAND_BY: Duration = Duration::from_secs(1);

/// The turns of this process.
#[derive(Debug)]
pub(crate) struct Turns {
    owner: String,
    has: Vec<AtomicBool>,
}

impl Turns {
    /// None yet.
    pub(crate) fn new(node: &str, partitions: u16) -> Self {
        Self {
            owner: node.to_owned(),
            has: (0..partitions).map(|_| AtomicBool::new(false)).collect(),
        }
    }

    /// Who this process is in leases.
    pub(crate) fn owner(&self) -> &str {
        &self.owner
    }

    /// Whether this process has the turn in a partition.
    pub(crate) fn has(&self, partition: Partition) -> bool {
        self.has
            .get(usize::from(partition))
            .is_some_and(|has| has.load(Relaxed))
    }

    /// `every` where it has the turn, else at least the pace of those who stand by.
    pub(crate) fn pace(&self, partition: Partition, every: Duration) -> Duration {
        if self.has(partition) {
            every
        } else {
            every.max(STAND_BY)
        }
    }
}

/// Renews the turns and asks for those of others.
pub(crate) struct TakeTurns {
    partitions: u16,
}

impl TakeTurns {
    pub(crate) fn new(town: &Arc<Town>) -> Self {
        Self {
            partitions: town.parts.store.partitions(),
        }
    }
}

impl Duty for TakeTurns {
    const NAME: &'static str = "turns";

    fn every(&self, _: &Town) -> Duration {
        RENEW_EVERY
    }

    async fn step(&mut self, town: &Town) -> Result<Next, Error> {
        for partition in 0..self.partitions {
            let duty = format!("scheduler-{partition}");
            let has = in_time(town.parts.store.hold(&duty, town.turns.owner(), ms(TURN))).await;
            town.turns.has[usize::from(partition)].store(*has.as_ref().unwrap_or(&false), Relaxed);
            has?;
        }
        Ok(Next::Later)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_no_turn_stands_by() {
        let turns = Turns::new("n1", 2);
        turns.has[1].store(true, Relaxed);
        let every = Duration::from_millis(100);
        assert_eq!((turns.pace(0, every), turns.pace(1, every)), (STAND_BY, every));
        assert_eq!(turns.pace(0, Duration::from_secs(9)), Duration::from_secs(9));
        assert!(!turns.has(7));
    }
}
