//! The events stream is lost with everything in it.

use gengfu_integration_tests::eventually;
use messaging::Position;
use store::TaskStore;

use crate::town::{SOON, Town};

#[tokio::test]
async fn what_nobody_had_recorded_is_announced_again_and_counted_once() {
    let mut town = Town::new().await;
    let running = town.start("n1");
    town.live_announced(4).await;
    eventually!(town.has_counted(1).await);
    assert!(running.stop().await.is_clean());
    // In the stream, and in no outbox.
    town.live_announced(8).await;
    let (old_epoch, _) = town.position(0).await;
    town.lose_the_stream().await;

    let running = town.start("n1");
    eventually!(town.has_counted(2).await);
    assert_ne!(town.position(0).await.0, old_epoch);
    // Whoever else reads the stream sees them too.
    let mut events = town.bus.events(0, Position::default());
    let batch = tokio::time::timeout(SOON, events.next_batch(8)).await.unwrap();
    let told: Vec<_> = batch[0].batch.entries[0]
        .events
        .iter()
        .map(|event| event.version)
        .collect();
    assert_eq!(told, [1, 2]);
    assert!(running.stop().await.is_clean());
}

#[tokio::test]
async fn it_happens_while_the_recorder_runs_and_the_work_goes_on() {
    let mut town = Town::new().await;
    let running = town.start("n1");
    let mut tasks = 0;
    for round in 0..3 {
        let entries = town.live(round * 16 + 1).await;
        town.live_announced(round * 16 + 5).await;
        town.lose_the_stream().await;
        // The first events of the new stream come from a task of which the old one had nothing.
        town.announcer.republish(entries.clone()).await.unwrap();
        for entry in entries {
            town.store
                .outbox_remove(entry.partition, &[entry.id])
                .await
                .unwrap();
        }
        town.live_announced(round * 16 + 9).await;
        tasks += 3;
        eventually!(town.has_counted(tasks).await);
    }
    assert!(running.stop().await.is_clean());
}
