//! The round through the partitions of duties that take one after the other.

use std::time::Duration;

use domain::Partition;

use crate::turns::Turns;

/// Where a round stands.
#[derive(Debug)]
pub(crate) struct Walk {
    partitions: u16,
    next: Partition,
}

impl Walk {
    pub(crate) const fn new(partitions: u16) -> Self {
        Self { partitions, next: 0 }
    }

    /// The partition to work on, if this process has its turn.
    pub(crate) fn here(&self, turns: &Turns) -> Option<Partition> {
        Some(self.next).filter(|partition| turns.has(*partition))
    }

    /// On to the next.
    pub(crate) const fn go_on(&mut self) {
        self.next = (self.next + 1) % if self.partitions == 0 { 1 } else { self.partitions };
    }

    /// The rest at each partition, so that a round takes `round`.
    pub(crate) fn rest(&self, round: Duration) -> Duration {
        round / u32::from(self.partitions.max(1))
    }
}
