//! Which partitions are this process's: at most its share, so that replicas have about the same.
//!
//! Everything rests on leases in the store. Each replica holds one of as many seats as there are partitions; who tries
//! the others' seats learns how many replicas live. Who has more than its share lets go, who has less takes what is
//! free.

use std::{collections::BTreeSet, time::Duration};

use domain::Partition;
use store::TaskStore;

use crate::error::{Error, in_time};

/// A lease that is over at once: to try a seat, and to let go.
const NO_TIME_MS: i64 = 1;

/// The leases of one process.
#[derive(Debug)]
pub(crate) struct Shares {
    owner: String,
    ttl_ms: i64,
    partitions: u16,
    seat: Option<u16>,
    held: BTreeSet<Partition>,
}

impl Shares {
    /// None yet.
    pub(crate) fn new(owner: &str, ttl: Duration, partitions: u16) -> Self {
        Self {
            owner: owner.to_owned(),
            ttl_ms: i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX),
            partitions,
            seat: None,
            held: BTreeSet::new(),
        }
    }

    /// Renews what is held, and tells what is held now. Those in `surplus` are to be let go when they are not read
    /// any more.
    pub(crate) async fn renew(&mut self, store: &dyn TaskStore) -> Result<Held, Error> {
        let share = self.share(store).await?;
        for partition in self.held.clone() {
            if !self.hold(store, &lease(partition), self.ttl_ms).await? {
                self.held.remove(&partition);
            }
        }
        let first = self.seat.unwrap_or(0) * share;
        for step in 0..self.partitions {
            let partition = (first + step) % self.partitions;
            if self.held.len() < usize::from(share)
                && !self.held.contains(&partition)
                && self.hold(store, &lease(partition), self.ttl_ms).await?
            {
                self.held.insert(partition);
            }
        }
        let surplus = self
            .held
            .iter()
            .rev()
            .take(self.held.len().saturating_sub(usize::from(share)));
        Ok(Held {
            held: self.held.clone(),
            surplus: surplus.copied().collect(),
        })
    }

    /// Lets a partition go, so that another may have it at once.
    pub(crate) async fn let_go(&mut self, store: &dyn TaskStore, partition: Partition) -> Result<(), Error> {
        self.held.remove(&partition);
        self.hold(store, &lease(partition), NO_TIME_MS).await.map(drop)
    }

    /// Lets everything go.
    pub(crate) async fn leave(&mut self, store: &dyn TaskStore) -> Result<(), Error> {
        for partition in self.held.clone() {
            self.let_go(store, partition).await?;
        }
        if let Some(number) = self.seat.take() {
            self.hold(store, &seat(number), NO_TIME_MS).await?;
        }
        Ok(())
    }

    /// The partitions that each living replica may have.
    async fn share(&mut self, store: &dyn TaskStore) -> Result<u16, Error> {
        if let Some(number) = self.seat
            && !self.hold(store, &seat(number), self.ttl_ms).await?
        {
            self.seat = None;
        }
        let mut living = 0;
        for number in 0..self.partitions {
            if self.seat == Some(number) {
                living += 1;
                continue;
            }
            let ttl_ms = if self.seat.is_none() {
                self.ttl_ms
            } else {
                NO_TIME_MS
            };
            match self.hold(store, &seat(number), ttl_ms).await? {
                true if self.seat.is_none() => {
                    self.seat = Some(number);
                    living += 1;
                }
                true => {}
                false => living += 1,
            }
        }
        Ok(self.partitions.div_ceil(living.max(1)))
    }

    async fn hold(&self, store: &dyn TaskStore, duty: &str, ttl_ms: i64) -> Result<bool, Error> {
        in_time(store.hold(duty, &self.owner, ttl_ms)).await
    }
}

/// What a process holds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) held: BTreeSet<Partition>,
    pub(crate) surplus: BTreeSet<Partition>,
}

fn lease(partition: Partition) -> String {
    format!("recorder-{partition}")
}

fn seat(number: u16) -> String {
    format!("recorder-seat-{number}")
}

#[cfg(test)]
mod tests {
    use store::{Clock, Model};

    use super::*;

    const TTL: Duration = Duration::from_secs(5);

    /// One round of a replica whose readers end at once; how many partitions it has then.
    async fn round(shares: &mut Shares, store: &Model) -> usize {
        let now = shares.renew(store).await.unwrap();
        for partition in now.surplus {
            shares.let_go(store, partition).await.unwrap();
        }
        store.clock().advance(10);
        shares.held.len()
    }

    #[tokio::test]
    async fn each_has_its_share_and_every_partition_is_somebodys() {
        let store = Model::new(8, Clock::standing(1_000));
        let mut replicas = ["a", "b", "c"].map(|owner| Shares::new(owner, TTL, 8));
        let [a, b, c] = &mut replicas;
        assert_eq!(round(a, &store).await, 8);
        assert_eq!(
            (
                round(b, &store).await,
                round(a, &store).await,
                round(b, &store).await
            ),
            (0, 4, 4)
        );
        round(c, &store).await;
        round(a, &store).await;
        round(b, &store).await;
        round(c, &store).await;
        let sizes = [a.held.len(), b.held.len(), c.held.len()];
        assert_eq!((sizes.iter().sum::<usize>(), sizes.iter().max()), (8, Some(&3)));
        // One leaves in order, one vanishes.
        c.leave(&store).await.unwrap();
        store.clock().advance(5_000);
        round(b, &store).await;
        assert_eq!(round(b, &store).await, 8);
    }

    #[tokio::test]
    async fn who_lost_its_leases_knows() {
        let store = Model::new(2, Clock::standing(1_000));
        let (mut a, mut b) = (Shares::new("a", TTL, 2), Shares::new("b", TTL, 2));
        assert_eq!(round(&mut a, &store).await, 2);
        store.clock().advance(5_001);
        assert_eq!(round(&mut b, &store).await, 2);
        assert_eq!(round(&mut a, &store).await, 0);
    }

    #[tokio::test]
    async fn more_replicas_than_partitions_wait_their_turn() {
        let store = Model::new(1, Clock::standing(1_000));
        let (mut a, mut b) = (Shares::new("a", TTL, 1), Shares::new("b", TTL, 1));
        assert_eq!((round(&mut a, &store).await, round(&mut b, &store).await), (1, 0));
        a.leave(&store).await.unwrap();
        store.clock().advance(10);
        assert_eq!(round(&mut b, &store).await, 1);
    }
}
