//! Every transition is counted, and counted once.

use gengfu_integration_tests::eventually;
use proto::{EventBatch, EventEntry, Message, Refused, TaskEvent};

use crate::town::{PARTITIONS, Town};

#[tokio::test]
async fn events_published_twice_are_counted_once() {
    let mut town = Town::new().await;
    let running = town.start("n1");
    for number in 1..=8 {
        let entries = town.live(number).await;
        let again: Vec<_> = entries.iter().flat_map(|entry| entry.events.clone()).collect();
        let partition = entries[0].partition;
        for entry in entries {
            town.announcer.announce(Some(entry));
        }
        // Packed otherwise, so that JetStream takes it for another message.
        town.announcer.announce_again(partition, again).await.unwrap();
    }
    assert!(town.announcer.flush(std::time::Duration::from_secs(20)).await);
    // A last message behind the others: once its place is kept, everything before it was read.
    let mut last = Vec::new();
    for partition in 0..PARTITIONS {
        last.push(refused(&town, partition).await);
    }
    for (partition, seq) in (0..PARTITIONS).zip(last) {
        eventually!(town.position(partition).await.1 == seq);
    }
    assert!(town.has_counted(8).await, "{:?}", town.counted().await);
    assert!(running.stop().await.is_clean());
}

#[tokio::test]
async fn a_recorder_that_comes_later_goes_on_where_the_last_one_ended() {
    let mut town = Town::new().await;
    let first = town.start("n1");
    town.live_announced(4).await;
    eventually!(town.has_counted(1).await);
    assert!(first.stop().await.is_clean());
    let (epoch, position) = town.position(0).await;
    town.live_announced(8).await;
    let second = town.start("n2");
    eventually!(town.has_counted(2).await);
    let now = town.position(0).await;
    assert!(now.0 == epoch && now.1 > position, "{now:?}");
    assert!(second.stop().await.is_clean());
}

#[tokio::test]
async fn refused_submissions_are_counted_and_senseless_events_left_out() {
    let mut town = Town::new().await;
    let running = town.start("n1");
    let senseless = EventEntry {
        events: vec![TaskEvent {
            to: 99,
            ..TaskEvent::default()
        }],
        ..EventEntry::default()
    };
    publish(&town, 2, senseless, "senseless").await;
    refused(&town, 2).await;
    town.live_announced(2).await;
    eventually!(town.has_counted(1).await);
    assert_eq!(running.counts.refused(), 1);
    assert!(running.stop().await.is_clean());
}

#[tokio::test]
async fn without_nats_it_waits_and_goes_on() {
    let mut town = Town::new().await;
    let running = town.start("n1");
    eventually!(running.health.is_ready());
    town.live_announced(1).await;
    eventually!(town.has_counted(1).await);
    town.nats.kill();
    eventually!(
        running
            .health
            .not_ready()
            .iter()
            .any(|waits| waits.name == "nats")
    );
    let entries = town.live(2).await;
    town.nats.start().unwrap();
    eventually!(running.health.is_ready());
    town.announcer.republish(entries).await.unwrap();
    eventually!(town.has_counted(2).await);
    assert!(running.stop().await.is_clean());
}

/// Publishes a refusal; its place in the stream.
async fn refused(town: &Town, partition: u16) -> u64 {
    let refused = Refused {
        reason: "two payloads for one key".into(),
        ..Refused::default()
    };
    let entry = EventEntry {
        refused: vec![refused],
        ..EventEntry::default()
    };
    publish(town, partition, entry, "refused").await
}

async fn publish(town: &Town, partition: u16, entry: EventEntry, id: &str) -> u64 {
    let batch = EventBatch {
        partition: partition.into(),
        entries: vec![entry],
    };
    let id = format!("{id}-{partition}");
    let publisher = town.bus.publisher();
    let acked = publisher
        .publish_event(partition, &id, batch.encode_to_vec().into())
        .await
        .unwrap();
    acked.await.unwrap().stream_seq
}
