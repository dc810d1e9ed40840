//! Ready hints for the dispatchers.

use std::sync::Arc;

use domain::Tier;
use proto::{Message, ReadyHint};

use crate::{
    Bus, Delivery, Error, consumer::Consumer, counts::count, delivery::Answer, feed::Feed, tiers::TierFeeds,
};

/// Messages asked for at a time in each tier.
const BATCH: usize = 64;

/// Takes ready hints off JetStream; dispatchers share them.
#[derive(Debug)]
pub struct ReadyPuller {
    bus: Bus,
    feeds: TierFeeds,
}

impl Bus {
    /// Takes ready hints off JetStream.
    #[must_use]
    pub fn ready_hints(&self) -> ReadyPuller {
        let feeds = TierFeeds::new(|tier| Feed::new(self.clone(), Arc::new(Consumer::ready(tier)), BATCH));
        ReadyPuller {
            bus: self.clone(),
            feeds,
        }
    }
}

impl ReadyPuller {
    /// Waits for one hint, then takes what is here already, up to `max`; goes on through every outage.
    /// May be empty, if nothing could be decoded. Safe to drop.
    pub async fn next_batch(&mut self, max: usize) -> Vec<ReadyMessage> {
        let batch = self.feeds.next_batch(max).await;
        batch
            .into_iter()
            .filter_map(|(tier, delivery)| ReadyMessage::read(&self.bus, tier, delivery))
            .collect()
    }

    /// Hands back what was asked for and is not used, so that another dispatcher gets it at once.
    pub async fn close(mut self) {
        self.feeds.give_back_now(&self.bus.core.counters.given_back).await;
    }
}

/// A hint that a queue is not empty any more.
#[derive(Debug)]
pub struct ReadyMessage {
    /// The hint.
    pub hint: ReadyHint,
    /// The tier of its subject.
    pub tier: Tier,
    delivery: Delivery,
}

impl ReadyMessage {
    fn read(bus: &Bus, tier: Tier, delivery: Delivery) -> Option<Self> {
        match ReadyHint::decode(delivery.payload.clone()) {
            Ok(hint) => Some(Self { hint, tier, delivery }),
            Err(error) => {
                count(&bus.core.counters.undecodable);
                // It is not acknowledged: it ends by its age in a moment.
                tracing::warn!(%error, subject = delivery.subject.as_str(), "hint dropped, it cannot be decoded");
                None
            }
        }
    }

    /// The queue was looked at. Does not wait for the server.
    ///
    /// # Errors
    /// The client is gone. The hint then comes again.
    pub async fn ack(&self) -> Result<(), Error> {
        self.delivery.answer(Answer::Ack).await
    }
}
