//! Questions that processes answer at once: what a run waits for, and how a process is.

use std::{marker::PhantomData, time::Duration};

use async_nats::{RequestErrorKind, Subject};
use futures::StreamExt;
use proto::{Message, ProbeReply, ProbeRequest, Vitals, VitalsRequest};

use crate::{
    Bus, Error,
    client::{Client, Subscriber},
    counts::count,
    subjects,
};

/// Questions of one kind, from now on and after every reconnect.
#[derive(Debug)]
pub struct Questions<Q> {
    bus: Bus,
    subscriber: Subscriber,
    kind: PhantomData<fn() -> Q>,
}

/// One question, and where its answer goes.
#[derive(Debug)]
pub struct Question<Q> {
    /// What is asked.
    pub asked: Q,
    client: Client,
    reply: Subject,
}

impl<Q: Message + Default> Questions<Q> {
    /// The next question; none when the client is gone. What can't be decoded is skipped. Safe to drop.
    pub async fn next(&mut self) -> Option<Question<Q>> {
        loop {
            let message = self.subscriber.next().await?;
            let Some(reply) = message.reply else { continue };
            match Q::decode(message.payload) {
                Ok(asked) => {
                    return Some(Question {
                        asked,
                        client: self.bus.core.client.clone(),
                        reply,
                    });
                }
                Err(_) => count(&self.bus.core.counters.undecodable),
            }
        }
    }
}

impl<Q> Question<Q> {
    /// Hands the answer to the client; does not wait for the server.
    ///
    /// # Errors
    /// The client is gone.
    pub async fn answer(self, answer: &impl Message) -> Result<(), Error> {
        self.client
            .publish(self.reply, answer.encode_to_vec().into())
            .await
            .map_err(|error| Error::client("answer", error))
    }
}

impl Bus {
    /// Questions to this executor about its runs.
    ///
    /// # Errors
    /// The client is gone.
    pub async fn probe_questions(&self, executor_id: &str) -> Result<Questions<ProbeRequest>, Error> {
        self.questions(subjects::probe(executor_id)).await
    }

    /// Questions to every process about itself.
    ///
    /// # Errors
    /// The client is gone.
    pub async fn vitals_questions(&self) -> Result<Questions<VitalsRequest>, Error> {
        self.questions(subjects::VITALS.to_owned()).await
    }

    /// Asks an executor what a run of it waits for; waits at most `limit`.
    ///
    /// # Errors
    /// No answer: nobody has this name, or it does not answer in time.
    pub async fn probe(
        &self,
        executor_id: &str,
        asked: &ProbeRequest,
        limit: Duration,
    ) -> Result<ProbeReply, Error> {
        let subject = subjects::probe(executor_id);
        self.connected()?;
        let asking = self
            .core
            .client
            .request(subject.clone(), asked.encode_to_vec().into());
        match tokio::time::timeout(limit, asking).await {
            Err(_) => Err(Error::Timeout(limit)),
            Ok(Ok(answer)) => Ok(ProbeReply::decode(answer.payload)?),
            Ok(Err(error)) => Err(match error.kind() {
                RequestErrorKind::NoResponders => Error::NoResponders(subject),
                RequestErrorKind::TimedOut => Error::Timeout(limit),
                _ => Error::client("request", error),
            }),
        }
    }

    /// Asks every process how it is, and gathers answers for so long, at most `most` of them.
    ///
    /// # Errors
    /// NATS is away.
    pub async fn gather_vitals(&self, limit: Duration, most: usize) -> Result<Vec<Vitals>, Error> {
        self.connected()?;
        let client = &self.core.client;
        let inbox = client.new_inbox();
        let mut answers = client
            .subscribe(inbox.clone())
            .await
            .map_err(|error| Error::client("subscribe", error))?;
        let body = VitalsRequest::default().encode_to_vec();
        client
            .publish_with_reply(subjects::VITALS, inbox, body.into())
            .await
            .map_err(|error| Error::client("ask", error))?;
        let until = tokio::time::Instant::now() + limit;
        let mut vitals = Vec::new();
        while let Ok(Some(answer)) = tokio::time::timeout_at(until, answers.next()).await {
            // Where nobody listens the server says so in a message without a body.
            if let Ok(one) = Vitals::decode(answer.payload)
                && one.pid != 0
            {
                vitals.push(one);
            }
            if vitals.len() >= most {
                break;
            }
        }
        Ok(vitals)
    }

    fn connected(&self) -> Result<(), Error> {
        match self.core.client.connection_state() {
            async_nats::connection::State::Connected => Ok(()),
            _ => Err(Error::NotReady),
        }
    }

    async fn questions<Q>(&self, subject: String) -> Result<Questions<Q>, Error> {
        let subscriber = self.core.client.subscribe(subject).await;
        Ok(Questions {
            bus: self.clone(),
            subscriber: subscriber.map_err(|error| Error::client("subscribe", error))?,
            kind: PhantomData,
        })
    }
}
