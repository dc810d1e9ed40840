//! A single pull. Dropped half-way, it hands back what it got.

use std::time::Duration;

use tokio::time::Instant;

use crate::{
    Bus, Delivery, Error,
    consumer::Consumer,
    counts::count,
    delivery::Answer,
    inbox::{Inbox, Incoming, Verdict},
};

/// How long an answer to a request that does not wait may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long stragglers of an abandoned pull are looked for.
const STRAGGLERS: Duration = Duration::from_millis(100);

/// Asks for what is there now, up to `max`.
pub(crate) async fn try_pull(
    bus: &Bus,
    consumer: &Consumer,
    spare: Option<Inbox>,
    max: usize,
) -> Result<(Vec<Delivery>, Option<Inbox>), Error> {
    let body = format!(r#"{{"batch":{max},"no_wait":true}}"#);
    pull(bus, consumer, spare, max, body, PATIENCE).await
}

/// Waits up to `expires` for one message.
pub(crate) async fn wait_pull(
    bus: &Bus,
    consumer: &Consumer,
    spare: Option<Inbox>,
    expires: Duration,
) -> Result<(Vec<Delivery>, Option<Inbox>), Error> {
    let body = format!(r#"{{"batch":1,"expires":{}}}"#, expires.as_nanos());
    pull(bus, consumer, spare, 1, body, expires + PATIENCE).await
}

async fn pull(
    bus: &Bus,
    consumer: &Consumer,
    spare: Option<Inbox>,
    max: usize,
    body: String,
    patience: Duration,
) -> Result<(Vec<Delivery>, Option<Inbox>), Error> {
    let epoch = consumer.prepare(bus).await?;
    let inbox = match spare {
        Some(inbox) => inbox,
        None => Inbox::open(&bus.core).await?,
    };
    let mut pull = Pull {
        bus: bus.clone(),
        inbox: Some(inbox),
        taken: Vec::new(),
    };
    let complete = pull.run(consumer, epoch, max, body, patience).await?;
    let taken = std::mem::take(&mut pull.taken);
    // An inbox on which more may arrive is not for the next.
    let spare = if complete { pull.inbox.take() } else { None };
    Ok((taken, spare))
}

struct Pull {
    bus: Bus,
    inbox: Option<Inbox>,
    taken: Vec<Delivery>,
}

impl Pull {
    /// True where nothing more can come.
    async fn run(
        &mut self,
        consumer: &Consumer,
        epoch: u64,
        max: usize,
        body: String,
        patience: Duration,
    ) -> Result<bool, Error> {
        let core = &self.bus.core;
        let Some(inbox) = self.inbox.as_mut() else {
            return Err(Error::NotReady);
        };
        let number = inbox.request(&core.client, &consumer.next, body).await?;
        let until = Instant::now() + patience;
        let mut link = core.link.watch();
        while self.taken.len() < max {
            let incoming = tokio::select! {
                biased;
                incoming = inbox.recv(core) => incoming.ok_or(Error::Interrupted)?,
                _ = link.wait_for(|now| now.epoch != epoch || !now.state.is_ready()) => {
                    return self.cut_short(Error::Interrupted);
                }
                () = tokio::time::sleep_until(until) => return self.cut_short(Error::Timeout(patience)),
            };
            match incoming {
                Incoming::Delivery(delivery) => self.taken.push(delivery),
                Incoming::Status(about, _) if about != Some(number) => {}
                Incoming::Status(_, Verdict::Open) => {}
                Incoming::Status(_, Verdict::Over | Verdict::Busy) => return Ok(true),
                Incoming::Status(_, Verdict::Gone) => {
                    core.link.stale(epoch);
                    return self.cut_short(Error::NotReady);
                }
            }
        }
        Ok(true)
    }

    /// What came is worth more than why nothing more comes.
    fn cut_short(&self, error: Error) -> Result<bool, Error> {
        if self.taken.is_empty() {
            Err(error)
        } else {
            Ok(false)
        }
    }
}

impl Drop for Pull {
    fn drop(&mut self) {
        let (inbox, taken) = (self.inbox.take(), std::mem::take(&mut self.taken));
        if inbox.is_none() && taken.is_empty() {
            return;
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(give_back(self.bus.clone(), inbox, taken));
        }
    }
}

async fn give_back(bus: Bus, mut inbox: Option<Inbox>, taken: Vec<Delivery>) {
    for delivery in taken {
        nak(&bus, &delivery).await;
    }
    while let Some(inbox) = &mut inbox {
        match tokio::time::timeout(STRAGGLERS, inbox.recv(&bus.core)).await {
            Ok(Some(Incoming::Delivery(delivery))) => nak(&bus, &delivery).await,
            Ok(Some(Incoming::Status(..))) => {}
            Ok(None) | Err(_) => return,
        }
    }
}

async fn nak(bus: &Bus, delivery: &Delivery) {
    count(&bus.core.counters.given_back);
    // If this does not arrive, the wait for the ack ends it.
    let _ = delivery.answer(Answer::Nak).await;
}
