//! Each duty, on a clock that the test moves.

use std::time::Duration;

use domain::Status;
use gengfu_integration_tests::eventually;
use messaging::Position;
use store::TaskStore;

use crate::town::{LEASE_MS, SOON, Town, hint, partition};

#[tokio::test]
async fn a_delayed_task_becomes_ready_at_its_time_and_a_hint_says_so() {
    let mut town = Town::standing().await;
    let mut hints = town.bus.ready_hints();
    let id = town.admit(5, 60_000).await;
    let running = town.start("n1");
    town.store.clock().advance(60_001);
    let hint = hint(&mut hints).await;
    let queue = (
        hint.partition,
        hint.pool.as_str(),
        hint.tier,
        hint.task_type.as_str(),
    );
    assert_eq!(queue, (u32::from(partition(id)), "default", 3, "a.b"));
    assert_eq!(town.store.stats(partition(id)).await.unwrap().delayed, 0);
    assert!(running.stop().await.is_clean());
}

#[tokio::test]
async fn everything_that_is_due_is_released_batch_after_batch() {
    let mut town = Town::standing().await;
    town.admit_many(200, 1_000).await;
    town.store.clock().advance(1_001);
    let running = town.start_with("n1", Duration::from_secs(3_600));
    eventually!(town.store.stats(0).await.is_ok_and(|stats| stats.delayed == 0));
    assert!(running.stop().await.is_clean());
}

#[tokio::test]
async fn a_task_whose_executor_vanished_is_taken_back_and_hinted() {
    let mut town = Town::standing().await;
    let id = town.admit(5, 0).await;
    town.claim(id).await;
    town.forget_outbox(id).await;
    let mut hints = town.bus.ready_hints();
    let running = town.start("n1");
    // In steps: after a long silence the store gives every lease its time again.
    eventually!({
        town.store.clock().advance(LEASE_MS / 10);
        town.status(id).await == Status::Pending
    });
    assert_eq!(hint(&mut hints).await.partition, u32::from(partition(id)));
    let timeline = town.store.timeline(id).await.unwrap();
    let newest: Vec<_> = timeline
        .iter()
        .rev()
        .map(|item| (item.to, item.actor.as_str()))
        .take(2)
        .collect();
    assert_eq!(
        newest,
        [(Status::Pending, "scheduler"), (Status::Timeout, "scheduler")]
    );

    // Both transitions reach the stream, and leave the outbox.
    let mut events = town.bus.events(partition(id), Position::default());
    let batch = tokio::time::timeout(SOON, events.next_batch(8)).await.unwrap();
    let told: Vec<_> = batch[0].batch.entries[0]
        .events
        .iter()
        .map(|event| event.to)
        .collect();
    assert_eq!(told, [Status::Timeout as u32, Status::Pending as u32]);
    eventually!(
        town.store
            .stats(partition(id))
            .await
            .is_ok_and(|stats| stats.outbox == 0)
    );
    let shown = running.metrics.render();
    assert!(
        shown.contains(r#"gengfu_retries_total{type="a.b",class="lost"} 1"#),
        "{shown}"
    );
    assert!(running.stop().await.is_clean());
}

#[tokio::test]
async fn an_entry_that_a_crash_left_behind_is_published_and_removed() {
    let mut town = Town::standing().await;
    // Admitted, but the process died before it announced that.
    let id = town.admit(5, 60_000).await;
    let running = town.start("n1");
    town.store.clock().advance(5_001);
    let mut events = town.bus.events(partition(id), Position::default());
    let batch = tokio::time::timeout(SOON, events.next_batch(8)).await.unwrap();
    assert_eq!(
        batch[0].batch.entries[0].events[0].task_id,
        id.as_bytes().as_slice()
    );
    eventually!(
        town.store
            .stats(partition(id))
            .await
            .is_ok_and(|stats| stats.outbox == 0)
    );
    assert!(running.stop().await.is_clean());
}

#[tokio::test]
async fn a_fresh_entry_is_left_to_its_maker() {
    let mut town = Town::standing().await;
    let (old, fresh) = (town.admit(4, 60_000).await, 8);
    town.store.clock().advance(4_000);
    let fresh = town.admit(fresh, 60_000).await;
    assert_eq!(partition(old), partition(fresh));
    town.store.clock().advance(1_001);
    let running = town.start("n1");
    eventually!(
        town.store
            .stats(partition(old))
            .await
            .is_ok_and(|stats| stats.outbox == 1)
    );
    let left = town.store.outbox(partition(old), 0, 10).await.unwrap();
    assert_eq!(left[0].events[0].task_id, fresh);
    assert!(running.stop().await.is_clean());
}

#[tokio::test]
async fn terminal_tasks_go_when_they_are_old_and_recorded() {
    let mut town = Town::standing().await;
    let (recorded, unrecorded) = (town.admit(5, 0).await, town.admit(6, 0).await);
    town.complete(recorded).await;
    town.complete(unrecorded).await;
    let entries = town.store.outbox(partition(recorded), 0, 10).await.unwrap();
    let events: Vec<_> = entries.into_iter().flat_map(|entry| entry.events).collect();
    town.store
        .record(partition(recorded), 1, 1, &events)
        .await
        .unwrap();
    let running = town.start("n1");
    town.store.clock().advance(1_001);
    eventually!(town.store.get(recorded).await.is_ok_and(|task| task.is_none()));
    assert_eq!(town.status(unrecorded).await, Status::Success);
    assert!(running.stop().await.is_clean());
}
