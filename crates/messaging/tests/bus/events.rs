//! Events of a partition, in order.

use anyhow::Result;
use messaging::{Bus, EventMessage, EventPuller, Position};
use proto::{EventBatch, EventEntry, Message};

use crate::nats::{Nats, within};

async fn publish(bus: &Bus, partition: u16, numbers: std::ops::Range<u32>) -> Result<()> {
    let publisher = bus.publisher();
    let mut acks = Vec::new();
    for number in numbers {
        let outbox_id = number.to_string();
        let id = format!("{partition}-{number}");
        let entries = vec![EventEntry {
            outbox_id,
            ..EventEntry::default()
        }];
        let batch = EventBatch {
            partition: partition.into(),
            entries,
        };
        acks.push(
            publisher
                .publish_event(partition, &id, batch.encode_to_vec().into())
                .await?,
        );
    }
    for ack in acks {
        within(ack).await??;
    }
    Ok(())
}

async fn take(puller: &mut EventPuller, count: usize) -> Result<Vec<EventMessage>> {
    let mut taken = Vec::new();
    while taken.len() < count {
        taken.extend(within(puller.next_batch(count - taken.len())).await?);
    }
    Ok(taken)
}

fn numbers(messages: &[EventMessage]) -> Vec<u32> {
    messages
        .iter()
        .map(|message| message.batch.entries[0].outbox_id.parse().unwrap())
        .collect()
}

#[tokio::test]
async fn events_of_one_partition_come_in_order() -> Result<()> {
    let nats = Nats::start()?;
    let bus = nats.bus().await?;
    publish(&bus, 1, 0..5).await?;
    publish(&bus, 0, 0..300).await?;
    let mut puller = bus.events(0, Position::default());
    let got = take(&mut puller, 300).await?;
    assert_eq!(numbers(&got), (0..300).collect::<Vec<_>>());
    assert_eq!((got[0].behind, got[299].behind), (299, 0));
    assert_eq!(got[299].position, puller.position());
    assert_eq!(Some(got[0].position.stream_created_ms), bus.events_created_ms());
    got[299].ack().await?;
    Ok(())
}

#[tokio::test]
async fn a_reader_goes_on_from_its_stored_position_whatever_was_acked() -> Result<()> {
    let nats = Nats::start()?;
    let bus = nats.bus().await?;
    publish(&bus, 2, 0..50).await?;
    let mut puller = bus.events(2, Position::default());
    let got = take(&mut puller, 30).await?;
    // More was acked than was stored, as after a database that lost its last write.
    got[29].ack().await?;
    let stored = got[9].position;
    drop(puller);
    let mut again = bus.events(2, stored);
    assert_eq!(
        numbers(&take(&mut again, 40).await?),
        (10..50).collect::<Vec<_>>()
    );
    Ok(())
}

#[tokio::test]
async fn a_restart_of_the_server_leaves_no_hole_and_no_repeat() -> Result<()> {
    let mut nats = Nats::start()?;
    let bus = nats.bus().await?;
    publish(&bus, 0, 0..60).await?;
    let mut puller = bus.events(0, Position::default());
    // The pull has more on its way than what is taken here.
    let mut got = take(&mut puller, 5).await?;
    nats.kill();
    nats.start_again()?;
    let second = nats.bus().await?;
    publish(&second, 0, 60..90).await?;
    got.extend(take(&mut puller, 85).await?);
    assert_eq!(numbers(&got), (0..90).collect::<Vec<_>>());
    Ok(())
}

#[tokio::test]
async fn a_stream_made_anew_is_read_from_its_start_and_told_by_its_position() -> Result<()> {
    let mut nats = Nats::start()?;
    let bus = nats.bus().await?;
    publish(&bus, 0, 0..10).await?;
    let mut puller = bus.events(0, Position::default());
    let old = take(&mut puller, 10).await?[9].position;

    nats.kill();
    nats.wipe()?;
    nats.start_again()?;
    within(nats.bus().await?.wait_ready()).await??;
    publish(&nats.bus().await?, 0, 100..103).await?;
    let got = take(&mut puller, 3).await?;
    assert_eq!(numbers(&got), [100, 101, 102]);
    assert!(got[0].position.stream_created_ms > old.stream_created_ms);
    assert_eq!(got[0].position.stream_seq, 1);

    // Another reader that still has the old position starts at the beginning too.
    drop(puller);
    assert_eq!(numbers(&take(&mut bus.events(0, old), 3).await?), [100, 101, 102]);
    Ok(())
}

#[tokio::test]
async fn a_reader_whose_consumer_was_deleted_goes_on() -> Result<()> {
    let nats = Nats::start()?;
    let bus = nats.bus().await?;
    publish(&bus, 0, 0..5).await?;
    let mut puller = bus.events(0, Position::default());
    assert_eq!(numbers(&take(&mut puller, 5).await?), [0, 1, 2, 3, 4]);
    let js = nats.bare().await?;
    js.delete_consumer_from_stream("recorder-0", "GENGFU_EVENTS")
        .await?;
    publish(&bus, 0, 5..8).await?;
    assert_eq!(numbers(&take(&mut puller, 3).await?), [5, 6, 7]);
    Ok(())
}

#[tokio::test]
async fn what_are_no_events_is_skipped() -> Result<()> {
    let nats = Nats::start()?;
    let bus = nats.bus().await?;
    nats.bare()
        .await?
        .publish("gengfu.events.0", "\u{ff}".into())
        .await?
        .await?;
    publish(&bus, 0, 1..2).await?;
    assert_eq!(
        numbers(&take(&mut bus.events(0, Position::default()), 1).await?),
        [1]
    );
    assert_eq!(bus.counts().undecodable, 1);
    Ok(())
}
