//! The window of publishes that wait for their acknowledgement.

use std::time::Duration;

use anyhow::Result;
use bytes::Bytes;
use messaging::{Config, Error};

use crate::{
    nats::{Nats, eventually, ready, within},
    work::hint,
};

#[tokio::test]
async fn the_window_is_bounded_and_opens_again() -> Result<()> {
    let nats = Nats::start()?;
    let bus = ready(Config {
        window: 4,
        ack_timeout: Duration::from_secs(60),
        ..nats.config()
    })
    .await?;
    let publisher = bus.publisher();
    nats.freeze()?;
    let mut acks = Vec::new();
    for number in 0..4 {
        acks.push(
            publisher
                .publish_event(0, &format!("id-{number}"), Bytes::from_static(b"x"))
                .await?,
        );
    }
    let hint = hint(1, 1);
    let mut fifth = Box::pin(publisher.publish_work(&hint));
    assert!(futures::poll!(&mut fifth).is_pending());
    assert_eq!(publisher.in_flight(), 4);

    nats.thaw()?;
    within(fifth).await??;
    for (ack, seq) in acks.into_iter().zip(1..) {
        assert_eq!(within(ack).await??.stream_seq, seq);
    }
    bus.flush(Duration::from_secs(5)).await?;
    assert_eq!(publisher.in_flight(), 0);
    Ok(())
}

#[tokio::test]
async fn the_window_is_bounded_by_bytes_too() -> Result<()> {
    let nats = Nats::start()?;
    let config = Config {
        window_bytes: 10 * 1024,
        ack_timeout: Duration::from_secs(60),
        ..nats.config()
    };
    let bus = ready(config).await?;
    let publisher = bus.publisher();
    nats.freeze()?;
    let first = publisher
        .publish_event(0, "a", Bytes::from(vec![0; 9 * 1024]))
        .await?;
    let mut second = Box::pin(publisher.publish_event(0, "b", Bytes::from(vec![0; 9 * 1024])));
    assert!(futures::poll!(&mut second).is_pending());
    nats.thaw()?;
    within(first).await??;
    within(within(second).await??).await??;
    // One that is larger than the whole window passes alone.
    within(
        publisher
            .publish_event(0, "c", Bytes::from(vec![0; 90 * 1024]))
            .await?,
    )
    .await??;
    Ok(())
}

#[tokio::test]
async fn a_silent_server_frees_the_window_in_time() -> Result<()> {
    let nats = Nats::start()?;
    let bus = ready(Config {
        ack_timeout: Duration::from_millis(300),
        ..nats.config()
    })
    .await?;
    let publisher = bus.publisher();
    nats.freeze()?;
    let ack = publisher.publish_event(0, "a", Bytes::from_static(b"x")).await?;
    publisher.publish_work(&hint(1, 1)).await?;
    assert!(matches!(within(ack).await?, Err(Error::Timeout(_))));
    eventually(async || (publisher.in_flight() == 0).then_some(())).await?;
    let counts = bus.counts();
    assert_eq!(
        (counts.hints_sent, counts.hints_lost, counts.events_failed),
        (1, 1, 1)
    );
    nats.thaw()
}

#[tokio::test]
async fn a_lost_connection_frees_the_window_at_once() -> Result<()> {
    let mut nats = Nats::start()?;
    let bus = ready(Config {
        ack_timeout: Duration::from_secs(600),
        ..nats.config()
    })
    .await?;
    let publisher = bus.publisher();
    nats.freeze()?;
    let ack = publisher.publish_event(0, "a", Bytes::from_static(b"x")).await?;
    nats.kill();
    assert!(matches!(within(ack).await?, Err(Error::Interrupted)));
    let now = publisher.publish_event(0, "a", Bytes::from_static(b"x")).await;
    assert!(
        matches!(now, Err(Error::NotReady)),
        "nothing piles up while the server is away"
    );
    assert_eq!(publisher.in_flight(), 0);
    Ok(())
}

#[tokio::test]
async fn an_event_published_twice_is_stored_once() -> Result<()> {
    let nats = Nats::start()?;
    let bus = nats.bus().await?;
    let publish = || async {
        let ack = bus
            .publisher()
            .publish_event(3, "3-17-abcdef", Bytes::from_static(b"x"))
            .await?;
        anyhow::Ok(within(ack).await??)
    };
    let (first, second) = (publish().await?, publish().await?);
    assert_eq!((first.duplicate, second.duplicate), (false, true));
    assert_eq!(first.stream_seq, second.stream_seq);
    Ok(())
}

#[tokio::test]
async fn a_message_over_the_servers_limit_is_refused_here() -> Result<()> {
    let nats = Nats::start()?;
    let bus = nats.bus().await?;
    let huge = Bytes::from(vec![0; 2 << 20]);
    let refused = bus.publisher().publish_event(0, "a", huge).await;
    assert!(matches!(refused, Err(Error::TooLarge { .. })));
    assert_eq!(bus.publisher().in_flight(), 0);
    Ok(())
}

#[tokio::test]
async fn a_full_submission_stream_tells_its_sender() -> Result<()> {
    let nats = Nats::start()?;
    let bus = ready(Config {
        submit_bytes: 1024,
        ..nats.config()
    })
    .await?;
    let large = proto::Submission {
        payload: vec![1; 700].into(),
        ..Default::default()
    };
    let submit = || async { bus.publisher().submit(domain::Tier::High, &large).await?.await };
    within(submit()).await??;
    assert!(matches!(within(submit()).await?, Err(Error::Refused(_))));
    Ok(())
}
