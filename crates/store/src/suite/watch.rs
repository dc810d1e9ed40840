//! What the watchman's tools read.

use super::Harness;
use super::new_task::{OTHER, TYPE};
use super::world::{LEASE_MS, World};
use crate::{BATCH_MAX, TypePause};

/// A lease is seen with its end, which a heartbeat moves; what does not run has none.
pub async fn a_lease_is_seen_while_a_task_runs(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let waits = world.create(world.task()).await;
    assert_eq!(world.store.lease(waits).await.unwrap(), None);
    let token = world.start(waits).await;
    let lease = world.store.lease(waits).await.unwrap().unwrap();
    assert_eq!(lease.length_ms, LEASE_MS);
    let left = lease.ends_at - lease.now;
    assert!(
        (LEASE_MS - 5_000..=LEASE_MS).contains(&left),
        "{left} ms are left"
    );
    world.pass(6_000).await;
    let older = world.store.lease(waits).await.unwrap().unwrap();
    assert_eq!(older.ends_at, lease.ends_at);
    assert!(older.now >= lease.now + 6_000);
    world.beat(&[(waits, token)]).await;
    assert!(world.store.lease(waits).await.unwrap().unwrap().ends_at > lease.ends_at);
    world.complete(waits, token).await.unwrap();
    assert_eq!(world.store.lease(waits).await.unwrap(), None);
}

/// Who paused a type first is kept until it is resumed.
pub async fn the_first_to_pause_is_kept(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let pause = |by: &str, since| TypePause {
        by: by.into(),
        reason: "the endpoint is down".into(),
        since,
        all: by == "ann",
    };
    assert!(world.store.pauses().await.unwrap().is_empty());
    let note = |name: &str, pause| [(name.to_owned(), pause)];
    world
        .store
        .note_pauses(&note(TYPE, Some(pause("ann", 5))))
        .await
        .unwrap();
    world
        .store
        .note_pauses(&note(TYPE, Some(pause("bob", 9))))
        .await
        .unwrap();
    world.store.note_pauses(&note(OTHER, None)).await.unwrap();
    let kept = world.store.pauses().await.unwrap();
    assert_eq!(
        kept.into_iter().collect::<Vec<_>>(),
        [(TYPE.to_owned(), pause("ann", 5))]
    );
    world.store.note_pauses(&note(TYPE, None)).await.unwrap();
    assert!(world.store.pauses().await.unwrap().is_empty());
}

/// Everything that runs is listed, page by page.
pub async fn what_runs_is_listed(harness: &dyn Harness) {
    let world = World::new(harness).await;
    assert_eq!(world.store.running(world.partition, 0).await.unwrap().items, []);
    let mut running = Vec::new();
    for _ in 0..BATCH_MAX + 3 {
        running.push(world.running().await.0);
    }
    let first = world.store.running(world.partition, 0).await.unwrap();
    let rest = world.store.running(world.partition, BATCH_MAX).await.unwrap();
    assert_eq!((first.items.len(), first.more), (BATCH_MAX, true));
    assert_eq!((rest.items.len(), rest.more), (3, false));
    let mut seen: Vec<_> = first
        .items
        .iter()
        .chain(&rest.items)
        .map(|task| task.id)
        .collect();
    seen.sort();
    running.sort();
    assert_eq!(seen, running);
}

/// The time of successful runs is counted once, today and tomorrow; failures and other types are apart.
pub async fn run_times_are_counted_once_and_forgotten(harness: &dyn Harness) {
    let world = World::new(harness).await;
    for ms in [2_000, 2_000, 60_000] {
        let (id, token) = world.running().await;
        // Somebody beats for it all along.
        for _ in 0..ms / 2_000 {
            world.pass(2_000).await;
            world.beat(&[(id, token)]).await;
        }
        world.complete(id, token).await.unwrap();
    }
    let (id, token) = world.running().await;
    world
        .fail(id, token, domain::ErrorClass::Deterministic, 0)
        .await
        .unwrap();
    assert!(
        world.store.run_times().await.unwrap().is_empty(),
        "nothing is recorded yet"
    );
    let events = world.events().await;
    for position in [1, 2] {
        let call = world.store.record(world.partition, 7, position, &events);
        call.await.unwrap();
    }
    let times = world.store.run_times().await.unwrap();
    assert_eq!(times.keys().collect::<Vec<_>>(), [TYPE]);
    assert_eq!(times[TYPE].runs(), 3);
    assert_eq!(times[TYPE].p99_ms(), None);
    world.outage(24 * 3_600_000).await;
    world.beat(&[]).await;
    assert_eq!(
        world.store.run_times().await.unwrap()[TYPE].runs(),
        3,
        "it is yesterday's"
    );
    world.outage(24 * 3_600_000).await;
    world.beat(&[]).await;
    assert!(world.store.run_times().await.unwrap().is_empty());
}
