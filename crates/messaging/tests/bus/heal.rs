//! JetStream loses everything while all run, and all goes on by itself.

use anyhow::Result;
use bytes::Bytes;
use domain::Tier;
use messaging::{Bus, streams};
use proto::{ReadyHint, Submission, WorkHint};

use crate::{
    nats::{Nats, eventually, within},
    work::hint,
};

/// One of everything, through the pullers of `reader`, published by `writer` as often as it takes.
async fn everything_passes(writer: &Bus, reader: &mut Reader) -> Result<()> {
    within(writer.wait_ready()).await??;
    let publisher = writer.publisher();
    let ready = ReadyHint {
        tier: 1,
        pool: "default".into(),
        ..ReadyHint::default()
    };
    let publish = async {
        eventually(async || {
            publisher
                .submit(Tier::Low, &Submission::default())
                .await
                .ok()?
                .await
                .ok()
        })
        .await?;
        eventually(async || {
            publisher
                .publish_event(0, "", Bytes::new())
                .await
                .ok()?
                .await
                .ok()
        })
        .await?;
        eventually(async || publisher.publish_ready(&ready).await.ok()).await?;
        eventually(async || publisher.publish_work(&hint(3, 1)).await.ok()).await
    };
    let read = async {
        within(reader.submissions.next_batch(1)).await?[0].ack().await?;
        within(reader.events.next_batch(1)).await?[0].ack().await?;
        within(reader.ready.next_batch(1)).await?[0].ack().await?;
        within(reader.idle.next()).await?.ack().await?;
        anyhow::Ok(())
    };
    let (published, was_read) = tokio::join!(publish, read);
    published?;
    was_read
}

struct Reader {
    submissions: messaging::SubmitPuller,
    events: messaging::EventPuller,
    ready: messaging::ReadyPuller,
    idle: messaging::Idle,
}

impl Reader {
    async fn new(bus: &Bus) -> Result<Self> {
        Ok(Self {
            submissions: bus.submissions(),
            events: bus.events(0, messaging::Position::default()),
            ready: bus.ready_hints(),
            idle: bus.work("default")?.idle().await,
        })
    }
}

#[tokio::test]
async fn data_folder_deleted_and_server_restarted_twice() -> Result<()> {
    let mut nats = Nats::start()?;
    let (writer, bus) = (nats.bus().await?, nats.bus().await?);
    let mut reader = Reader::new(&bus).await?;
    everything_passes(&writer, &mut reader).await?;
    for restarts in 1..=2 {
        nats.kill();
        nats.wipe()?;
        nats.start_again()?;
        within(async {
            while writer.counts().connects <= restarts || !writer.is_ready() {
                writer.changed().await;
            }
        })
        .await?;
        everything_passes(&writer, &mut reader).await?;
        // A consumer that nobody had made before.
        let fresh = bus.work("other")?;
        assert!(fresh.try_pull(Tier::Critical, 1).await?.is_empty());
        let sent = WorkHint {
            pool: "other".into(),
            ..hint(1, 9)
        };
        writer.publisher().publish_work(&sent).await?;
        eventually(async || fresh.try_pull(Tier::Critical, 1).await.ok()?.pop()).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_stream_deleted_under_a_live_connection_comes_back() -> Result<()> {
    let nats = Nats::start()?;
    let (writer, bus) = (nats.bus().await?, nats.bus().await?);
    let mut reader = Reader::new(&bus).await?;
    everything_passes(&writer, &mut reader).await?;
    let js = nats.bare().await?;
    for stream in [streams::SUBMIT, streams::READY, streams::WORK, streams::EVENTS] {
        js.delete_stream(stream).await?;
    }
    // Hints are published until they arrive: the first ones only find out that the stream is gone.
    everything_passes(&writer, &mut reader).await?;
    assert_eq!(writer.counts().connects, 1);
    Ok(())
}

#[tokio::test]
async fn a_consumer_deleted_under_a_waiting_pull_comes_back() -> Result<()> {
    let nats = Nats::start()?;
    let bus = nats.bus().await?;
    let mut reader = Reader::new(&bus).await?;
    everything_passes(&bus, &mut reader).await?;
    let js = nats.bare().await?;
    for name in ["default-normal", "default-high"] {
        js.delete_consumer_from_stream(name, streams::WORK).await?;
    }
    everything_passes(&bus, &mut reader).await?;
    let pulled = bus.work("default")?;
    js.delete_consumer_from_stream("default-high", streams::WORK)
        .await
        .ok();
    bus.publisher().publish_work(&hint(2, 1)).await?;
    eventually(async || pulled.try_pull(Tier::High, 1).await.ok()?.pop()).await?;
    Ok(())
}
