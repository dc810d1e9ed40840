//! The outbox: every transition leaves the store exactly once.

use domain::{ErrorClass, Status, Tier};

use super::Harness;
use super::new_task::{POOL, TYPE};
use super::world::{World, origin};
use crate::{NewTask, Operation, TaskEvent};

/// Each transition stands in the outbox once, as in the timeline, however often its verb was played.
pub async fn each_transition_is_announced_once(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let (id, token) = world.running().await;
    world.fail(id, token, ErrorClass::Transient, 0).await.unwrap();
    let token = world.start(id).await;
    world.operate(id, Operation::Cancel).await.unwrap();
    world.stopped(id, token).await.unwrap();
    let events = world.events().await;
    let timeline = world.timeline(id).await;
    assert_eq!(events.len(), timeline.len());
    for (event, item) in events.iter().zip(&timeline) {
        assert_eq!(
            (event.task_id, event.version, event.from, event.to),
            (id, item.version, item.from, item.to)
        );
        assert_eq!(
            (event.at, event.attempt, &event.reason),
            (item.at, item.attempt, &item.reason)
        );
        assert_eq!((&event.actor, &event.node), (&item.actor, &item.node));
        assert_eq!(
            (event.error_class, &event.error_code),
            (item.error_class, &item.error_code)
        );
    }
}

/// The events of a task that waits for 4 s, runs for 7 s, fails and shall wait for 9 s.
async fn failing(world: &World<'_>, new: NewTask) -> Vec<TaskEvent> {
    let id = world.create(NewTask { max_retry: 1, ..new }).await;
    world.pass(4_000).await;
    let token = world.start(id).await;
    world.pass(7_000).await;
    world.fail(id, token, ErrorClass::Transient, 9_000).await.unwrap();
    let events = world.events().await;
    let to: Vec<_> = events.iter().map(|event| event.to).collect();
    assert_eq!(
        to,
        [Status::Pending, Status::Running, Status::Failed, Status::Retrying]
    );
    events
}

/// An event carries what its readers need: type, pool, tier, batch, schedule and counts.
pub async fn an_event_carries_what_its_readers_need(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let batch = Some(domain::TaskId::new(3, [9; 10]));
    let new = NewTask {
        batch_id: batch,
        schedule_id: "nightly".into(),
        sampled: true,
        ..world.task()
    };
    let events = failing(&world, new).await;
    for event in &events {
        assert_eq!(
            (event.task_type.as_str(), event.pool.as_str(), event.tier),
            (TYPE, POOL, Tier::Normal)
        );
        assert_eq!(
            (event.batch_id, event.schedule_id.as_str(), event.sampled),
            (batch, "nightly", true)
        );
        assert_eq!(event.max_retry, 1);
    }
    let retries: Vec<_> = events.iter().map(|event| event.retry_count).collect();
    assert_eq!(retries, [0, 0, 0, 1]);
    let failed = (events[2].error_class, events[2].error_code.as_str());
    assert_eq!(failed, (Some(ErrorClass::Transient), "refused"));
}

/// A claim tells how long the task waited, the end of a run how long it ran, a retry how long it waits; others nothing.
pub async fn an_event_carries_the_time_of_its_step(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let events = failing(&world, world.task()).await;
    let near = |time: i64, expected: i64| (expected..expected + 5_000).contains(&time);
    let times: Vec<_> = events
        .iter()
        .map(|event| (event.wait_ms, event.run_ms, event.delay_ms))
        .collect();
    assert!(near(times[1].0, 4_000) && near(times[2].1, 7_000), "{times:?}");
    assert_eq!((times[0], times[1].1, times[1].2), ((0, 0, 0), 0, 0));
    assert_eq!((times[2].0, times[2].2, times[3]), (0, 0, (0, 0, 9_000)));
}

/// A verb answers with the entry that it left in the outbox; a verb without transitions leaves none.
pub async fn a_reply_has_its_entry(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let tasks = [world.task(), world.task()];
    let reply = world
        .store
        .admit(world.partition, world.nonce(), &origin(), &tasks)
        .await
        .unwrap();
    let entry = reply.outbox.unwrap();
    assert_eq!((entry.partition, entry.events.len()), (world.partition, 2));
    assert_eq!(world.store.outbox(world.partition, 0, 10).await.unwrap(), [entry]);
    world.dispatch(64).await;
    world.release().await;
    let nothing = world.claim_all(&[world.id()]).await;
    assert_eq!(nothing.outbox, None);
    assert_eq!(world.store.outbox(world.partition, 0, 10).await.unwrap().len(), 1);
}

/// Entries are given oldest first and bounded, and go when they are removed; removing twice is fine.
pub async fn removed_entries_are_gone(harness: &dyn Harness) {
    let world = World::new(harness).await;
    for _ in 0..4 {
        world.create(world.task()).await;
    }
    let entries = world.store.outbox(world.partition, 0, 10).await.unwrap();
    assert_eq!(entries.len(), 4);
    assert_eq!(
        world.store.outbox(world.partition, 0, 2).await.unwrap(),
        entries[..2]
    );
    let ids = [entries[0].id.clone(), entries[2].id.clone()];
    for _ in 0..2 {
        world.store.outbox_remove(world.partition, &ids).await.unwrap();
    }
    world.store.outbox_remove(world.partition, &[]).await.unwrap();
    let left = [entries[1].clone(), entries[3].clone()];
    assert_eq!(world.store.outbox(world.partition, 0, 10).await.unwrap(), left);
    assert_eq!(world.store.stats(world.partition).await.unwrap().outbox, 2);
}

/// Only entries that wait for longer than asked are given.
pub async fn young_entries_are_left_alone(harness: &dyn Harness) {
    let world = World::new(harness).await;
    world.create(world.task()).await;
    assert_eq!(
        world.store.outbox(world.partition, 3_600_000, 10).await.unwrap(),
        []
    );
    assert_eq!(world.store.outbox(world.partition, 0, 10).await.unwrap().len(), 1);
}

/// A repeat of a call whose entry is already with the stream does not put it back.
pub async fn a_repeat_puts_no_entry_back(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let (nonce, tasks) = (world.nonce(), [world.task()]);
    let first = world
        .store
        .admit(world.partition, nonce, &origin(), &tasks)
        .await
        .unwrap();
    let ids = [first.outbox.unwrap().id];
    world.store.outbox_remove(world.partition, &ids).await.unwrap();
    let again = world
        .store
        .admit(world.partition, nonce, &origin(), &tasks)
        .await
        .unwrap();
    assert_eq!((again.items, again.now), (first.items, first.now));
    assert_eq!(again.outbox, None);
    assert_eq!(world.store.outbox(world.partition, 0, 10).await.unwrap(), []);
}
