//! A standing pull: asks for the next messages before the last are used up, and goes on through every outage.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use tokio::{sync::watch, time::Instant};

use crate::{
    Bus, Delivery, Error,
    consumer::Consumer,
    inbox::{Inbox, Incoming, Verdict},
    jitter,
    link::Snapshot,
};

/// How long the server keeps a request. A request that was lost is noticed a moment after that.
const EXPIRES: Duration = Duration::from_secs(10);
const GRACE: Duration = Duration::from_secs(1);
/// A pause after a refused request.
const PAUSE: Duration = Duration::from_millis(100);

#[derive(Debug)]
struct Request {
    number: u64,
    left: usize,
    until: Instant,
}

#[derive(Debug)]
pub(crate) struct Feed {
    bus: Bus,
    pub(crate) consumer: Arc<Consumer>,
    link: watch::Receiver<Snapshot>,
    inbox: Option<Inbox>,
    epoch: u64,
    /// How often the inbox was made anew.
    pub(crate) restarts: u64,
    /// The oldest first; the server serves them in this order.
    requests: VecDeque<Request>,
    batch: usize,
    quiet_until: Instant,
    failures: usize,
}

impl Feed {
    /// Asks for `batch` messages at a time; up to one and a half of that can be on their way.
    pub(crate) fn new(bus: Bus, consumer: Arc<Consumer>, batch: usize) -> Self {
        Self {
            link: bus.core.link.watch(),
            bus,
            consumer,
            inbox: None,
            epoch: 0,
            restarts: 0,
            requests: VecDeque::new(),
            batch,
            quiet_until: Instant::now(),
            failures: 0,
        }
    }

    /// The next message, whenever it comes. Safe to drop: nothing that arrived is lost.
    pub(crate) async fn next(&mut self) -> Delivery {
        loop {
            if let Err(error) = self.arm().await {
                self.sit_out(&error).await;
                continue;
            }
            if let Some(delivery) = self.receive().await {
                return delivery;
            }
        }
    }

    /// The next message, if it is here already.
    pub(crate) fn try_next(&mut self) -> Option<Delivery> {
        loop {
            let incoming = self.inbox.as_mut()?.try_recv(&self.bus.core)?;
            if let Some(delivery) = self.take(incoming) {
                return Some(delivery);
            }
        }
    }

    /// The next message of what was asked for already; none when nothing more can come.
    pub(crate) async fn next_of_asked(&mut self) -> Option<Delivery> {
        loop {
            if let Some(delivery) = self.try_next() {
                return Some(delivery);
            }
            let now = Instant::now();
            self.requests.retain(|request| request.until > now);
            if self.requests.is_empty() || self.bus.core.link.ready_epoch().ok() != Some(self.epoch) {
                return None;
            }
            if let Some(delivery) = self.receive().await {
                return Some(delivery);
            }
        }
    }

    /// Starts again from the consumer's position; what is on its way is dropped.
    pub(crate) fn restart(&mut self) {
        self.consumer.forget();
        self.epoch = 0;
    }

    async fn arm(&mut self) -> Result<(), Error> {
        let epoch = self.consumer.prepare(&self.bus).await?;
        if epoch != self.epoch {
            self.requests.clear();
            if self.consumer.is_ordered() {
                self.inbox = None;
                self.restarts += 1;
            }
            self.epoch = epoch;
        }
        let now = Instant::now();
        self.requests.retain(|request| request.until > now);
        let asked: usize = self.requests.iter().map(|request| request.left).sum();
        if asked > self.batch / 2 || now < self.quiet_until {
            return Ok(());
        }
        let inbox = match &mut self.inbox {
            Some(inbox) => inbox,
            none => none.insert(Inbox::open(&self.bus.core).await?),
        };
        let body = format!(r#"{{"batch":{},"expires":{}}}"#, self.batch, EXPIRES.as_nanos());
        let number = inbox
            .request(&self.bus.core.client, &self.consumer.next, body)
            .await?;
        self.requests.push_back(Request {
            number,
            left: self.batch,
            until: now + EXPIRES + GRACE,
        });
        self.failures = 0;
        Ok(())
    }

    /// What arrives next; none if it was no message, or the epoch ended, or it is time to ask again.
    async fn receive(&mut self) -> Option<Delivery> {
        let epoch = self.epoch;
        let wake = self
            .requests
            .front()
            .map_or(self.quiet_until, |request| request.until);
        let inbox = self.inbox.as_mut()?;
        let incoming = tokio::select! {
            biased;
            incoming = inbox.recv(&self.bus.core) => incoming?,
            _ = self.link.wait_for(|now| now.epoch != epoch || !now.state.is_ready()) => return None,
            () = tokio::time::sleep_until(wake) => return None,
        };
        self.take(incoming)
    }

    fn take(&mut self, incoming: Incoming) -> Option<Delivery> {
        match incoming {
            Incoming::Delivery(delivery) => {
                if let Some(request) = self.requests.front_mut() {
                    request.left = request.left.saturating_sub(1);
                    if request.left == 0 {
                        self.requests.pop_front();
                    }
                }
                Some(delivery)
            }
            Incoming::Status(number, verdict) => {
                let known = self
                    .requests
                    .iter()
                    .position(|request| Some(request.number) == number);
                if let Some(index) = known {
                    self.heed(index, verdict);
                }
                None
            }
        }
    }

    fn heed(&mut self, request: usize, verdict: Verdict) {
        match verdict {
            Verdict::Open => {}
            Verdict::Over => {
                self.requests.remove(request);
            }
            Verdict::Busy => {
                self.requests.remove(request);
                self.quiet_until = Instant::now() + PAUSE;
            }
            Verdict::Gone => {
                self.requests.clear();
                self.bus.core.link.stale(self.epoch);
            }
        }
    }

    async fn sit_out(&mut self, error: &Error) {
        if matches!(error, Error::NotReady) {
            // The sender lives in the bus, so this cannot fail.
            let _ = self.link.wait_for(|now| now.state.is_ready()).await;
            return;
        }
        self.failures += 1;
        if self.failures == 1 {
            tracing::warn!(error = error.chain(), "cannot pull messages yet");
        }
        tokio::time::sleep(jitter::delay(self.failures)).await;
    }
}
