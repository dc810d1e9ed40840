//! Messages that nobody stores: slot reports and nudges. Each may be missed, and the next one makes up for it.

use std::marker::PhantomData;

use domain::TaskId;
use futures::StreamExt;
use proto::{Message, Nudge, SlotReport, nudge::About};

use crate::{Bus, Error, client::Subscriber, counts::count, subjects};

/// Messages of one kind, from now on and after every reconnect.
#[derive(Debug)]
pub struct Broadcasts<T> {
    bus: Bus,
    subscriber: Subscriber,
    kind: PhantomData<fn() -> T>,
}

impl<T: Message + Default> Broadcasts<T> {
    /// The next message; none when the client is gone. What can't be decoded is skipped. Safe to drop.
    pub async fn next(&mut self) -> Option<T> {
        loop {
            let message = self.subscriber.next().await?;
            match T::decode(message.payload) {
                Ok(message) => return Some(message),
                Err(error) => {
                    count(&self.bus.core.counters.undecodable);
                    tracing::debug!(%error, subject = message.subject.as_str(), "message skipped");
                }
            }
        }
    }
}

impl Bus {
    /// Tells the dispatchers what an executor can take.
    ///
    /// # Errors
    /// Not sent: NATS is away, or the name can't be a pool's.
    pub async fn report_slots(&self, report: &SlotReport) -> Result<(), Error> {
        self.tell(subjects::slots(&report.pool)?, report).await
    }

    /// What the executors of all pools can take.
    ///
    /// # Errors
    /// The client is gone.
    pub async fn slot_reports(&self) -> Result<Broadcasts<SlotReport>, Error> {
        self.listen(subjects::SLOTS_ALL.to_owned()).await
    }

    /// Tells an executor that one of its running tasks is to be stopped.
    ///
    /// # Errors
    /// Not sent: NATS is away.
    pub async fn nudge_stop(&self, executor_id: &str, task: TaskId) -> Result<(), Error> {
        let about = About::TaskId(bytes::Bytes::copy_from_slice(task.as_bytes()));
        self.tell(subjects::stop(executor_id), &Nudge { about: Some(about) })
            .await
    }

    /// Nudges to stop tasks of this executor.
    ///
    /// # Errors
    /// The client is gone.
    pub async fn stop_nudges(&self, executor_id: &str) -> Result<Broadcasts<Nudge>, Error> {
        self.listen(subjects::stop(executor_id)).await
    }

    /// Tells all services that the control state has a new version.
    ///
    /// # Errors
    /// Not sent: NATS is away.
    pub async fn nudge_control(&self, version: u64) -> Result<(), Error> {
        let about = About::ControlVersion(version);
        self.tell(subjects::CONTROL.to_owned(), &Nudge { about: Some(about) })
            .await
    }

    /// Nudges that the control state has a new version.
    ///
    /// # Errors
    /// The client is gone.
    pub async fn control_nudges(&self) -> Result<Broadcasts<Nudge>, Error> {
        self.listen(subjects::CONTROL.to_owned()).await
    }

    async fn listen<T>(&self, subject: String) -> Result<Broadcasts<T>, Error> {
        let subscriber = self
            .core
            .client
            .subscribe(subject)
            .await
            .map_err(|error| Error::client("subscribe", error))?;
        Ok(Broadcasts {
            bus: self.clone(),
            subscriber,
            kind: PhantomData,
        })
    }

    async fn tell(&self, subject: String, message: &impl Message) -> Result<(), Error> {
        let core = &self.core;
        // Kept for later, it would only mislead.
        if core.client.connection_state() != async_nats::connection::State::Connected {
            return Err(Error::NotReady);
        }
        let sent = core.client.publish(subject, message.encode_to_vec().into());
        match tokio::time::timeout(core.config.ack_timeout, sent).await {
            Ok(sent) => sent.map_err(|error| Error::client("publish", error)),
            Err(_) => Err(Error::Timeout(core.config.ack_timeout)),
        }
    }
}
