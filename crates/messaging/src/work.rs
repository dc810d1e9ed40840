//! Work hints for the executors of a pool.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use domain::Tier;
use proto::{Message, WorkHint};
use tokio::sync::{Notify, OwnedMutexGuard};

use crate::{
    Bus, Delivery, Error, consumer::Consumer, counts::count, delivery::Answer, feed::Feed, inbox::Inbox,
    pull, tiers::TierFeeds,
};

/// Inboxes kept for the next pull.
const SPARE_INBOXES: usize = 8;

/// Takes work hints of one pool off JetStream. Cheap to clone.
#[derive(Debug, Clone)]
pub struct WorkPuller {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    bus: Bus,
    consumers: [Arc<Consumer>; 4],
    spare: Mutex<Vec<Inbox>>,
    standing: Arc<tokio::sync::Mutex<TierFeeds>>,
    wanted: Arc<Wanted>,
}

/// Whether somebody wants the standing pulls that nobody listens to right now.
#[derive(Debug, Default)]
struct Wanted {
    by: AtomicUsize,
    told: Notify,
}

impl Bus {
    /// Takes work hints of a pool off JetStream.
    ///
    /// # Errors
    /// The name can't be a pool's.
    pub fn work(&self, pool: &str) -> Result<WorkPuller, Error> {
        let [a, b, c, d] = Tier::ALL.map(|tier| Consumer::work(pool, tier).map(Arc::new));
        let consumers = [a?, b?, c?, d?];
        let feeds = TierFeeds::new(|tier| Feed::new(self.clone(), Arc::clone(of(&consumers, tier)), 1));
        Ok(WorkPuller {
            shared: Arc::new(Shared {
                bus: self.clone(),
                spare: Mutex::default(),
                standing: Arc::new(tokio::sync::Mutex::new(feeds)),
                wanted: Arc::default(),
                consumers,
            }),
        })
    }
}

fn of<T>(tiers: &[T; 4], tier: Tier) -> &T {
    &tiers[usize::from(tier as u8) - 1]
}

impl WorkPuller {
    /// What is there now, up to `max_messages`; waits for the server's answer, but not for messages.
    /// Dropped half-way, it hands back what it got.
    ///
    /// # Errors
    /// Nothing came, because NATS or the streams are away; trying again is right.
    pub async fn try_pull(&self, tier: Tier, max_messages: usize) -> Result<Vec<WorkMessage>, Error> {
        if max_messages == 0 {
            return Ok(Vec::new());
        }
        let shared = &*self.shared;
        let consumer = of(&shared.consumers, tier).as_ref();
        let (taken, spare) = pull::try_pull(&shared.bus, consumer, shared.spare(), max_messages).await?;
        Ok(shared.finish(tier, taken, spare).await)
    }

    /// The next message, if one comes within `expires`. Dropped half-way, it hands back what it got.
    /// Whoever waits often, or on several tiers, should use [`Self::idle`].
    ///
    /// # Errors
    /// Nothing came, because NATS or the streams are away; trying again is right.
    pub async fn wait_pull(&self, tier: Tier, expires: Duration) -> Result<Option<WorkMessage>, Error> {
        let shared = &*self.shared;
        let consumer = of(&shared.consumers, tier).as_ref();
        let (taken, spare) = pull::wait_pull(&shared.bus, consumer, shared.spare(), expires).await?;
        Ok(shared.finish(tier, taken, spare).await.pop())
    }

    /// Waiting pulls on all tiers, for as long as the answer lives.
    ///
    /// The pulls themselves outlive it for some seconds, so that dropping and taking it again costs nothing; what
    /// arrives meanwhile is handed back at once. There is one at a time: a second caller waits for the first.
    pub async fn idle(&self) -> Idle {
        let shared = &self.shared;
        let _want = shared.wanted.announce();
        let standing = Arc::clone(&shared.standing).lock_owned().await;
        Idle {
            bus: shared.bus.clone(),
            standing: Some(standing),
            wanted: Arc::clone(&shared.wanted),
        }
    }
}

impl Shared {
    fn spare(&self) -> Option<Inbox> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    async fn finish(&self, tier: Tier, taken: Vec<Delivery>, spare: Option<Inbox>) -> Vec<WorkMessage> {
        if let Some(inbox) = spare {
            let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
            if spare.len() < SPARE_INBOXES {
                spare.push(inbox);
            }
        }
        let mut messages = Vec::with_capacity(taken.len());
        for delivery in taken {
            messages.extend(WorkMessage::read(&self.bus, tier, delivery).await);
        }
        messages
    }
}

/// Waiting pulls on all tiers. Whatever it yields has to be claimed at once.
#[derive(Debug)]
pub struct Idle {
    bus: Bus,
    standing: Option<OwnedMutexGuard<TierFeeds>>,
    wanted: Arc<Wanted>,
}

impl Idle {
    /// The next message of any tier, whenever it comes; goes on through every outage. Safe to drop.
    /// After it returned nothing more is asked for until it is called again, but for one message of each other tier.
    pub async fn next(&mut self) -> WorkMessage {
        loop {
            let Some(standing) = self.standing.as_mut() else {
                // Only a drop takes the pulls away.
                return std::future::pending().await;
            };
            let (tier, delivery) = standing.next().await;
            if let Some(message) = WorkMessage::read(&self.bus, tier, delivery).await {
                return message;
            }
        }
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        let Some(mut standing) = self.standing.take() else {
            return;
        };
        let (bus, wanted) = (self.bus.clone(), Arc::clone(&self.wanted));
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                tokio::select! {
                    biased;
                    () = wanted.wait() => {}
                    () = standing.give_back(&bus.core.counters.given_back) => {}
                }
            });
        }
    }
}

impl Wanted {
    fn announce(&self) -> Want<'_> {
        self.by.fetch_add(1, SeqCst);
        self.told.notify_waiters();
        Want(self)
    }

    async fn wait(&self) {
        let told = self.told.notified();
        tokio::pin!(told);
        told.as_mut().enable();
        if self.by.load(SeqCst) == 0 {
            told.await;
        }
    }
}

struct Want<'w>(&'w Wanted);

impl Drop for Want<'_> {
    fn drop(&mut self) {
        self.0.by.fetch_sub(1, SeqCst);
    }
}

/// A hint that tasks may be claimed.
#[derive(Debug)]
pub struct WorkMessage {
    /// The hint.
    pub hint: WorkHint,
    /// The tier of the queue it came from.
    pub tier: Tier,
    delivery: Delivery,
}

impl WorkMessage {
    async fn read(bus: &Bus, tier: Tier, delivery: Delivery) -> Option<Self> {
        match WorkHint::decode(delivery.payload.clone()) {
            Ok(hint) => Some(Self { hint, tier, delivery }),
            Err(error) => {
                count(&bus.core.counters.undecodable);
                tracing::warn!(%error, subject = delivery.subject.as_str(), "hint dropped, it cannot be decoded");
                // If this does not arrive, the hint comes again.
                let _ = delivery.answer(Answer::Term).await;
                None
            }
        }
    }

    /// The claim was answered: the hint has done its work. Does not wait for the server.
    ///
    /// # Errors
    /// The client is gone. The hint then comes again and finds nothing to claim.
    pub async fn ack(&self) -> Result<(), Error> {
        self.delivery.answer(Answer::Ack).await
    }

    /// Deliver it again, at once: nothing was claimed.
    ///
    /// # Errors
    /// The client is gone. The hint comes again when the wait for its ack is over.
    pub async fn nak(&self) -> Result<(), Error> {
        self.delivery.answer(Answer::Nak).await
    }
}
