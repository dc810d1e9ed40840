//! Submissions by NATS.

use anyhow::Result;
use bytes::Bytes;
use domain::Tier;
use messaging::{SubmitMessage, SubmitPuller, streams};
use proto::{ReadyHint, Submission};

use crate::nats::{Nats, eventually, within};

async fn take(puller: &mut SubmitPuller, count: usize) -> Result<Vec<SubmitMessage>> {
    let mut taken = Vec::new();
    while taken.len() < count {
        taken.extend(within(puller.next_batch(count - taken.len())).await?);
    }
    Ok(taken)
}

#[tokio::test]
async fn a_submission_arrives_with_its_key_its_trace_and_its_exact_bytes() -> Result<()> {
    let nats = Nats::start()?;
    let bus = nats.bus().await?;
    let mut puller = bus.submissions();
    let payload = Bytes::from_static(b"\0\xff{\"n\":9007199254740993}");
    let traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let sent = Submission {
        task_type: "room.notify".into(),
        payload,
        idempotency_key: "k".into(),
        traceparent: traceparent.into(),
        ..Submission::default()
    };
    within(bus.publisher().submit(Tier::High, &sent).await?).await??;
    let got = take(&mut puller, 1).await?.remove(0);
    assert_eq!(
        (got.tier, got.submission.as_ref().unwrap(), got.key().as_str()),
        (Tier::High, &sent, "k")
    );
    assert_eq!(got.traceparent.as_deref(), Some(traceparent));
    assert_eq!(got.delivered(), 1);
    Ok(())
}

#[tokio::test]
async fn every_submission_has_a_key() -> Result<()> {
    let nats = Nats::start()?;
    let bus = nats.bus().await?;
    let js = nats.bare().await?;
    let mut headers = async_nats::HeaderMap::new();
    headers.insert("Nats-Msg-Id", "the-id");
    js.publish_with_headers("gengfu.submit.low", headers, Bytes::new())
        .await?
        .await?;
    js.publish("gengfu.submit.low", Bytes::new()).await?.await?;
    let got = take(&mut bus.submissions(), 2).await?;
    assert_eq!(got[0].key(), "the-id");
    assert!(got[1].key().starts_with("GENGFU_SUBMIT/2/"), "{}", got[1].key());
    Ok(())
}

#[tokio::test]
async fn answered_submissions_are_gone_and_the_others_come_again() -> Result<()> {
    let nats = Nats::start()?;
    let bus = nats.bus().await?;
    let js = nats.bare().await?;
    for (tier, body) in [("critical", ""), ("high", "\u{ff}"), ("low", "")] {
        js.publish(format!("gengfu.submit.{tier}"), body.into())
            .await?
            .await?;
    }
    let mut puller = bus.submissions();
    for message in take(&mut puller, 3).await? {
        match message.tier {
            Tier::Critical => message.ack().await?,
            Tier::High => {
                assert!(message.submission.is_err());
                assert_eq!(message.raw, Bytes::from_static("\u{ff}".as_bytes()));
                message.term().await?;
            }
            Tier::Normal | Tier::Low => message.nak().await?,
        }
    }
    let again = take(&mut puller, 1).await?.remove(0);
    assert_eq!((again.tier, again.delivered()), (Tier::Low, 2));
    again.ack().await?;
    eventually(async || {
        let mut stream = js.get_stream(streams::SUBMIT).await.ok()?;
        (stream.info().await.ok()?.state.messages == 0).then_some(())
    })
    .await
}

#[tokio::test]
async fn what_a_closed_puller_asked_for_goes_to_another_at_once() -> Result<()> {
    let nats = Nats::start()?;
    let bus = nats.bus().await?;
    for _ in 0..20 {
        within(
            bus.publisher()
                .submit(Tier::Normal, &Submission::default())
                .await?,
        )
        .await??;
    }
    let mut first = bus.submissions();
    let one = take(&mut first, 1).await?;
    within(first.close()).await?;
    let rest = take(&mut bus.submissions(), 19).await?;
    assert_eq!((one.len(), rest.len()), (1, 19));
    Ok(())
}

#[tokio::test]
async fn ready_hints_reach_a_dispatcher() -> Result<()> {
    let nats = Nats::start()?;
    let bus = nats.bus().await?;
    let mut puller = bus.ready_hints();
    let sent = ReadyHint {
        partition: 9,
        pool: "gpu".into(),
        tier: 1,
        task_type: "t".into(),
    };
    bus.publisher().publish_ready(&sent).await?;
    let got = within(puller.next_batch(10)).await?.remove(0);
    assert_eq!((&got.hint, got.tier), (&sent, Tier::Critical));
    got.ack().await?;
    within(puller.close()).await
}
