//! Four standing pulls, one a tier, the most urgent first.

use std::time::Duration;

use domain::Tier;
use futures::future;

use crate::{Delivery, counts::count, delivery::Answer, feed::Feed};

/// How long a closed pull looks for what was on its way already.
const MOMENT: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(crate) struct TierFeeds {
    feeds: [Feed; 4],
}

impl TierFeeds {
    pub(crate) fn new(feed: impl FnMut(Tier) -> Feed) -> Self {
        Self {
            feeds: Tier::ALL.map(feed),
        }
    }

    /// The next message of any tier. Safe to drop.
    pub(crate) async fn next(&mut self) -> (Tier, Delivery) {
        let [critical, high, normal, low] = &mut self.feeds;
        tokio::select! {
            biased;
            delivery = critical.next() => (Tier::Critical, delivery),
            delivery = high.next() => (Tier::High, delivery),
            delivery = normal.next() => (Tier::Normal, delivery),
            delivery = low.next() => (Tier::Low, delivery),
        }
    }

    /// Waits for one message, then takes what is here already, up to `max`. Safe to drop.
    pub(crate) async fn next_batch(&mut self, max: usize) -> Vec<(Tier, Delivery)> {
        if max == 0 {
            return Vec::new();
        }
        let first = self.next().await;
        fill(first, max, |tier| self.feeds[tier as usize - 1].try_next())
    }

    /// Hands back what is here or comes within a moment; the rest ends with the subscription.
    pub(crate) async fn give_back_now(&mut self, given_back: &std::sync::atomic::AtomicU64) {
        let _ = tokio::time::timeout(MOMENT, self.give_back(given_back)).await;
    }

    /// Hands back everything that was asked for and still comes, until nothing more can come. Safe to drop.
    pub(crate) async fn give_back(&mut self, given_back: &std::sync::atomic::AtomicU64) {
        future::join_all(self.feeds.iter_mut().map(|feed| async {
            while let Some(delivery) = feed.next_of_asked().await {
                count(given_back);
                // If this does not arrive, the wait for the ack ends it.
                let _ = delivery.answer(Answer::Nak).await;
            }
        }))
        .await;
    }
}

/// A tier gets its share first, and after that what the others leave, so that in batches of 15 and more the most
/// urgent one starves nobody.
fn fill<T>(first: (Tier, T), max: usize, mut take: impl FnMut(Tier) -> Option<T>) -> Vec<(Tier, T)> {
    let mut shares = shares(max);
    shares[first.0 as usize - 1] -= 1;
    let mut batch = vec![first];
    let turns = shares
        .into_iter()
        .zip(Tier::ALL)
        .chain(Tier::ALL.map(|tier| (max, tier)));
    for (share, tier) in turns {
        let room = share.min(max - batch.len());
        batch.extend(
            std::iter::from_fn(|| take(tier))
                .take(room)
                .map(|item| (tier, item)),
        );
    }
    batch
}

/// How much of a batch each tier may take before the others were asked.
fn shares(max: usize) -> [usize; 4] {
    let all: usize = Tier::ALL.iter().map(|tier| tier.weight() as usize).sum();
    Tier::ALL.map(|tier| (max * tier.weight() as usize / all).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tier_has_a_share() {
        assert_eq!(shares(150), [80, 40, 20, 10]);
        assert_eq!(shares(1), [1, 1, 1, 1]);
    }

    fn filled(max: usize, waiting: [usize; 4]) -> [usize; 4] {
        let mut left = waiting;
        let batch = fill((Tier::Critical, ()), max, |tier| {
            let left = &mut left[tier as usize - 1];
            *left = left.checked_sub(1)?;
            Some(())
        });
        assert!(batch.len() <= max);
        Tier::ALL.map(|tier| batch.iter().filter(|(of, ())| *of == tier).count())
    }

    #[test]
    fn no_tier_starves_and_no_room_is_wasted() {
        assert_eq!(filled(20, [99, 0, 0, 99]), [19, 0, 0, 1]);
        assert_eq!(filled(15, [99, 99, 99, 99]), [8, 4, 2, 1]);
        assert_eq!(filled(30, [0, 0, 3, 99]), [1, 0, 3, 26]);
        assert_eq!(filled(30, [2, 2, 2, 2]), [3, 2, 2, 2]);
        assert_eq!(filled(1, [99, 99, 99, 99]), [1, 0, 0, 0]);
    }
}
