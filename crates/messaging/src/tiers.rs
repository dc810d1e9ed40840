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

    /// Waits for one message, then takes what is here already, up to `max`. A tier gets its share first, and what
    /// others leave after that, so that the most urgent one can't starve the rest. Safe to drop.
    pub(crate) async fn next_batch(&mut self, max: usize) -> Vec<(Tier, Delivery)> {
        if max == 0 {
            return Vec::new();
        }
        let mut batch = vec![self.next().await];
        let shares = shares(max);
        for (feed, share) in self
            .feeds
            .iter_mut()
            .zip(shares)
            .zip(Tier::ALL)
            .map(|((f, s), t)| ((f, t), s))
        {
            fill(&mut batch, feed, share, max);
        }
        for (feed, tier) in self.feeds.iter_mut().zip(Tier::ALL) {
            fill(&mut batch, (feed, tier), max, max);
        }
        batch
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

fn fill(batch: &mut Vec<(Tier, Delivery)>, (feed, tier): (&mut Feed, Tier), share: usize, max: usize) {
    for _ in 0..share {
        if batch.len() >= max {
            return;
        }
        match feed.try_next() {
            Some(delivery) => batch.push((tier, delivery)),
            None => return,
        }
    }
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
}
