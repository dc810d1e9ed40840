//! Hints from a dispatcher to executors.

use std::time::{Duration, Instant};

use anyhow::Result;
use domain::Tier;
use messaging::{Error, streams};
use proto::{WorkHint, WorkItem};

use crate::nats::{Nats, eventually, within};

/// A hint of `tier` for the task `number`.
pub(crate) fn hint(tier: u32, number: u8) -> WorkHint {
    WorkHint {
        partition: 7,
        pool: "default".into(),
        tier,
        items: vec![WorkItem {
            task_id: vec![number; 16].into(),
            ..WorkItem::default()
        }],
        dispatched_at_ms: 5,
    }
}

async fn left_in_stream(nats: &Nats) -> Result<u64> {
    let mut stream = nats.bare().await?.get_stream(streams::WORK).await?;
    Ok(stream.info().await?.state.messages)
}

/// Waits until this many pull requests of the consumer wait on the server.
async fn waiting(nats: &Nats, consumer: &str, requests: usize) -> Result<()> {
    let js = nats.bare().await?;
    eventually(async || {
        let stream = js.get_stream(streams::WORK).await.ok()?;
        let info = stream.consumer_info(consumer).await.ok()?;
        (info.num_waiting == requests).then_some(())
    })
    .await
}

#[tokio::test]
async fn a_pull_brings_what_is_there_and_does_not_wait_for_more() -> Result<()> {
    let nats = Nats::start()?;
    let bus = nats.bus().await?;
    let (publisher, puller) = (bus.publisher(), bus.work("default")?);
    assert!(puller.try_pull(Tier::Normal, 10).await?.is_empty());

    for number in 1..=3 {
        publisher.publish_work(&hint(3, number)).await?;
    }
    bus.flush(Duration::from_secs(5)).await?;
    assert!(puller.try_pull(Tier::High, 10).await?.is_empty());
    let two = puller.try_pull(Tier::Normal, 2).await?;
    let before = Instant::now();
    let rest = puller.try_pull(Tier::Normal, 10).await?;
    assert!(before.elapsed() < Duration::from_secs(1));
    let hints: Vec<_> = two
        .iter()
        .chain(&rest)
        .map(|message| message.hint.clone())
        .collect();
    assert_eq!(hints, [hint(3, 1), hint(3, 2), hint(3, 3)]);

    for message in two.iter().chain(&rest) {
        message.ack().await?;
    }
    eventually(async || (left_in_stream(&nats).await.ok()? == 0).then_some(())).await
}

#[tokio::test]
async fn a_wait_ends_with_a_message_or_with_its_time() -> Result<()> {
    let nats = Nats::start()?;
    let bus = nats.bus().await?;
    let puller = bus.work("default")?;
    assert!(
        puller
            .wait_pull(Tier::Low, Duration::from_millis(100))
            .await?
            .is_none()
    );

    let wait = puller.wait_pull(Tier::Low, Duration::from_secs(10));
    let publish = async {
        waiting(&nats, "default-low", 1).await?;
        Ok(bus.publisher().publish_work(&hint(4, 1)).await?)
    };
    let (message, published): (_, Result<()>) = tokio::join!(wait, publish);
    published?;
    assert_eq!(message?.unwrap().hint, hint(4, 1));
    Ok(())
}

#[tokio::test]
async fn an_abandoned_wait_holds_no_message() -> Result<()> {
    let nats = Nats::start()?;
    let (busy, other) = (nats.bus().await?, nats.bus().await?);
    let puller = busy.work("default")?;
    {
        let wait = puller.wait_pull(Tier::Normal, Duration::from_secs(10));
        tokio::select! {
            _ = wait => panic!("nothing was published"),
            waits = waiting(&nats, "default-normal", 1) => waits?,
        }
    }
    // The message may still be pushed to the one that does not want it any more.
    other.publisher().publish_work(&hint(3, 1)).await?;
    let before = Instant::now();
    let got = within(
        other
            .work("default")?
            .wait_pull(Tier::Normal, Duration::from_secs(10)),
    )
    .await??;
    assert!(
        got.is_some() && before.elapsed() < Duration::from_secs(3),
        "well before the ack wait of 5 s"
    );
    Ok(())
}

#[tokio::test]
async fn idle_waits_on_all_tiers() -> Result<()> {
    let nats = Nats::start()?;
    let bus = nats.bus().await?;
    let puller = bus.work("default")?;
    let mut idle = puller.idle().await;
    for tier in [4, 1, 3, 2, 2, 4] {
        let publisher = bus.publisher();
        let sent = hint(tier, 1);
        let (message, published) = tokio::join!(within(idle.next()), publisher.publish_work(&sent));
        published?;
        let message = message?;
        assert_eq!((message.hint.tier, message.tier as u32), (tier, tier));
        message.ack().await?;
    }
    Ok(())
}

#[tokio::test]
async fn what_comes_after_idle_ended_goes_to_another_executor() -> Result<()> {
    let nats = Nats::start()?;
    let (busy, other) = (nats.bus().await?, nats.bus().await?);
    let puller = busy.work("default")?;
    let mut idle = puller.idle().await;
    tokio::select! {
        _ = idle.next() => panic!("nothing was published"),
        waits = waiting(&nats, "default-normal", 1) => waits?,
    }
    drop(idle);

    other.publisher().publish_work(&hint(3, 1)).await?;
    let before = Instant::now();
    let got = within(
        other
            .work("default")?
            .wait_pull(Tier::Normal, Duration::from_secs(10)),
    )
    .await??;
    assert!(
        got.is_some() && before.elapsed() < Duration::from_secs(3),
        "well before the ack wait of 5 s"
    );
    assert_eq!(busy.counts().given_back, 1);
    Ok(())
}

#[tokio::test]
async fn idle_taken_again_goes_on_with_the_pulls_it_had() -> Result<()> {
    let nats = Nats::start()?;
    let bus = nats.bus().await?;
    let puller = bus.work("default")?;
    for number in 1..=5 {
        let mut idle = puller.idle().await;
        tokio::select! {
            _ = idle.next() => panic!("nothing was published"),
            waits = waiting(&nats, "default-high", 1) => waits?,
        }
        drop(idle);
        // Whoever hands back in the meantime runs now.
        waiting(&nats, "default-high", 1).await?;
        let before = Instant::now();
        let mut idle = within(puller.idle()).await?;
        assert!(
            before.elapsed() < Duration::from_secs(3),
            "well before the pulls expire"
        );
        bus.publisher().publish_work(&hint(2, number)).await?;
        let message = within(idle.next()).await?;
        assert_eq!(message.hint, hint(2, number));
        message.ack().await?;
    }
    assert_eq!(bus.counts().given_back, 0);
    Ok(())
}

#[tokio::test]
async fn what_is_handed_back_comes_again_at_once() -> Result<()> {
    let nats = Nats::start()?;
    let bus = nats.bus().await?;
    let puller = bus.work("default")?;
    bus.publisher().publish_work(&hint(1, 1)).await?;
    let wait = Duration::from_secs(2);
    within(puller.wait_pull(Tier::Critical, wait))
        .await??
        .unwrap()
        .nak()
        .await?;
    assert!(within(puller.wait_pull(Tier::Critical, wait)).await??.is_some());
    Ok(())
}

#[tokio::test]
async fn what_is_no_hint_is_dropped() -> Result<()> {
    let nats = Nats::start()?;
    let bus = nats.bus().await?;
    let js = nats.bare().await?;
    js.publish("gengfu.work.default.high", "\u{ff}\u{ff}".into())
        .await?
        .await?;
    bus.publisher().publish_work(&hint(2, 1)).await?;
    let got = eventually(async || {
        bus.work("default")
            .ok()?
            .try_pull(Tier::High, 10)
            .await
            .ok()?
            .pop()
    })
    .await?;
    assert_eq!(got.hint, hint(2, 1));
    assert_eq!(bus.counts().undecodable, 1);
    got.ack().await?;
    eventually(async || (left_in_stream(&nats).await.ok()? == 0).then_some(())).await
}

#[tokio::test]
async fn a_bad_pool_or_tier_never_reaches_a_subject() -> Result<()> {
    let nats = Nats::start()?;
    let bus = nats.bus().await?;
    assert!(matches!(bus.work("a.*"), Err(Error::InvalidPool(_))));
    let bad = WorkHint {
        pool: "a.>".into(),
        ..hint(1, 1)
    };
    assert!(matches!(
        bus.publisher().publish_work(&bad).await,
        Err(Error::InvalidPool(_))
    ));
    assert!(matches!(
        bus.publisher().publish_work(&hint(9, 1)).await,
        Err(Error::InvalidTier(9))
    ));
    Ok(())
}
