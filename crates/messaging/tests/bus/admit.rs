//! Admission with an answer.

use std::time::Duration;

use anyhow::Result;
use messaging::{Config, Error};
use proto::{AdmitOutcome, AdmitReply, AdmitRequest, AdmitResult, Message, Submission};

use crate::nats::{Nats, eventually, ready, within};

fn request() -> AdmitRequest {
    AdmitRequest {
        submissions: vec![Submission {
            task_type: "t".into(),
            ..Submission::default()
        }],
    }
}

#[tokio::test]
async fn a_request_is_answered_by_one_dispatcher() -> Result<()> {
    let nats = Nats::start()?;
    let (bus, client) = (nats.bus().await?, nats.bus().await?);
    let (mut one, mut two) = (bus.serve_admit().await?, bus.serve_admit().await?);
    let result = AdmitResult {
        task_id: vec![1; 16].into(),
        outcome: AdmitOutcome::Created.into(),
        ..AdmitResult::default()
    };
    let reply = AdmitReply {
        results: vec![result],
    };
    let serve = async {
        let call = tokio::select! { call = one.next() => call, call = two.next() => call }.unwrap();
        assert_eq!(call.request, request());
        call.answer.send(&reply).await
    };
    // The subscription is known to the server once a request finds it.
    let ask = eventually(async || client.admit(&request()).await.ok());
    let (served, answer) = tokio::join!(within(serve), ask);
    served??;
    assert_eq!(answer?, reply);
    Ok(())
}

#[tokio::test]
async fn without_a_dispatcher_the_client_learns_it_at_once() -> Result<()> {
    let mut nats = Nats::start()?;
    let bus = nats.bus().await?;
    assert!(matches!(
        within(bus.admit(&request())).await?,
        Err(Error::NoResponders(_))
    ));
    nats.kill();
    within(async {
        while bus.is_ready() {
            bus.changed().await;
        }
    })
    .await?;
    assert!(matches!(
        within(bus.admit(&request())).await?,
        Err(Error::NotReady)
    ));
    Ok(())
}

#[tokio::test]
async fn a_dispatcher_that_never_answers_is_a_timeout() -> Result<()> {
    let nats = Nats::start()?;
    let bus = ready(Config {
        request_timeout: Duration::from_millis(200),
        ..nats.config()
    })
    .await?;
    let _silent = bus.serve_admit().await?;
    // Published on the same connection, so the subscription is there first.
    assert!(matches!(
        within(bus.admit(&request())).await?,
        Err(Error::Timeout(_))
    ));
    Ok(())
}

#[tokio::test]
async fn what_is_no_request_is_answered_with_the_reason() -> Result<()> {
    let nats = Nats::start()?;
    let bus = nats.bus().await?;
    let mut requests = bus.serve_admit().await?;
    let client = nats.bare().await?.client();
    let ask = eventually(async || client.request("gengfu.admit", "\u{ff}".into()).await.ok());
    let answer = tokio::select! {
        _ = requests.next() => panic!("it cannot be decoded"),
        answer = ask => answer?,
    };
    let reply = AdmitReply::decode(answer.payload)?;
    assert_eq!(reply.results[0].error_code, "undecodable");
    assert_eq!(reply.results[0].outcome(), AdmitOutcome::Refused);
    Ok(())
}
