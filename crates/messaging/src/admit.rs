//! Admission with an answer: a request to whichever dispatcher is free.

use async_nats::{RequestErrorKind, Subject};
use futures::StreamExt;
use proto::{AdmitOutcome, AdmitReply, AdmitRequest, AdmitResult, Message};

use crate::{
    Bus, Error,
    client::{Client, Subscriber},
    counts::count,
    subjects,
};

/// Dispatchers share the requests.
const QUEUE_GROUP: &str = "dispatchers";

/// Requests that want tasks admitted.
#[derive(Debug)]
pub struct AdmitRequests {
    bus: Bus,
    subscriber: Subscriber,
}

impl Bus {
    /// Takes part in answering requests, from now on and after every reconnect.
    ///
    /// # Errors
    /// The client is gone.
    pub async fn serve_admit(&self) -> Result<AdmitRequests, Error> {
        let subscriber = self
            .core
            .client
            .queue_subscribe(subjects::ADMIT, QUEUE_GROUP.to_owned())
            .await
            .map_err(|error| Error::client("subscribe", error))?;
        Ok(AdmitRequests {
            bus: self.clone(),
            subscriber,
        })
    }

    /// Asks a dispatcher to admit tasks.
    ///
    /// # Errors
    /// No answer, in which case the tasks may have been admitted: with an idempotency key the same request may be
    /// sent again.
    pub async fn admit(&self, request: &AdmitRequest) -> Result<AdmitReply, Error> {
        let core = &self.core;
        if core.client.connection_state() != async_nats::connection::State::Connected {
            return Err(Error::NotReady);
        }
        let (body, limit) = (request.encode_to_vec(), core.client.max_payload());
        if body.len() > limit {
            return Err(Error::TooLarge {
                bytes: body.len(),
                limit,
            });
        }
        match core.client.request(subjects::ADMIT, body.into()).await {
            Ok(answer) => Ok(AdmitReply::decode(answer.payload)?),
            Err(error) => Err(match error.kind() {
                RequestErrorKind::NoResponders => Error::NoResponders(subjects::ADMIT.to_owned()),
                RequestErrorKind::TimedOut => Error::Timeout(core.config.request_timeout),
                _ => Error::client("request", error),
            }),
        }
    }
}

impl AdmitRequests {
    /// The next request; none when the client is gone. What can't be decoded is answered here. Safe to drop.
    pub async fn next(&mut self) -> Option<AdmitCall> {
        loop {
            let message = self.subscriber.next().await?;
            let Some(reply) = message.reply else { continue };
            let reply = AdmitAnswer {
                client: self.bus.core.client.clone(),
                reply,
            };
            match AdmitRequest::decode(message.payload) {
                Ok(request) => {
                    return Some(AdmitCall {
                        request,
                        answer: reply,
                    });
                }
                Err(error) => {
                    count(&self.bus.core.counters.undecodable);
                    // Whoever asked sees a timeout if this is lost.
                    let _ = reply.send(&undecodable(&error)).await;
                }
            }
        }
    }

    /// Takes no further requests; those that are here already can still be read by [`Self::next`].
    pub async fn close(&mut self) {
        // Fails only where the client is gone, and then nothing comes any more.
        let _ = self.subscriber.drain().await;
    }
}

fn undecodable(error: &proto::DecodeError) -> AdmitReply {
    let refused = AdmitResult {
        outcome: AdmitOutcome::Refused.into(),
        error_code: "undecodable".to_owned(),
        error: error.to_string(),
        ..AdmitResult::default()
    };
    AdmitReply {
        results: vec![refused],
    }
}

/// One request, and how to answer it.
#[derive(Debug)]
pub struct AdmitCall {
    /// What is to be admitted.
    pub request: AdmitRequest,
    /// Takes the answer.
    pub answer: AdmitAnswer,
}

/// Takes the answer to one request.
#[derive(Debug)]
pub struct AdmitAnswer {
    client: Client,
    reply: Subject,
}

impl AdmitAnswer {
    /// Hands the answer to the client; does not wait for the server.
    ///
    /// # Errors
    /// The client is gone.
    pub async fn send(self, reply: &AdmitReply) -> Result<(), Error> {
        self.client
            .publish(self.reply, reply.encode_to_vec().into())
            .await
            .map_err(|error| Error::client("answer", error))
    }
}
