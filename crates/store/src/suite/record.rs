//! The recorder's write: position and statistics in one step, each transition counted once.

use std::collections::BTreeMap;

use domain::{ErrorClass, Status, TaskId};

use super::Harness;
use super::new_task::TYPE;
use super::world::World;
use crate::{Recorded, TaskEvent};

/// The statistics of all hours together.
async fn sums(world: &World<'_>) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for (hour, field, count) in world.store.hours(0).await.unwrap() {
        assert_eq!(hour % 3_600_000, 0);
        *sums.entry(field).or_default() += count;
    }
    sums
}

async fn failed_and_done(world: &World<'_>) -> TaskId {
    let (id, token) = world.running().await;
    world.pass(4_000).await;
    world.fail(id, token, ErrorClass::Transient, 1_000).await.unwrap();
    world.pass(2_000).await;
    let token = world.start(id).await;
    world.pass(3_000).await;
    world.complete(id, token).await.unwrap();
    id
}

fn count(sums: &BTreeMap<String, u64>, word: &str) -> u64 {
    sums.get(&format!("{TYPE}|{word}")).copied().unwrap_or(0)
}

async fn record(world: &World<'_>, epoch: i64, position: u64, events: &[TaskEvent]) -> Recorded {
    world
        .store
        .record(world.partition, epoch, position, events)
        .await
        .unwrap()
}

/// Each transition is counted by its status; waits and runs are summed.
pub async fn transitions_are_counted_by_status(harness: &dyn Harness) {
    let world = World::new(harness).await;
    failed_and_done(&world).await;
    let events = world.events().await;
    let recorded = record(&world, 7, 10, &events).await;
    assert_eq!(
        recorded,
        Recorded {
            fresh: 6,
            repeated: 0,
            position: 10
        }
    );
    assert_eq!(world.store.recorded(world.partition).await.unwrap(), (7, 10));
    let sums = sums(&world).await;
    let expected = [
        ("pending", 1),
        ("running", 2),
        ("failed", 1),
        ("retrying", 1),
        ("success", 1),
        ("dead", 0),
    ];
    for (word, times) in expected {
        assert_eq!(count(&sums, word), times, "{word}: {sums:?}");
    }
    let (waited, ran) = (count(&sums, "wait_ms"), count(&sums, "run_ms"));
    assert!((1_000..10_000).contains(&waited), "waited {waited} ms");
    assert!((7_000..20_000).contains(&ran), "ran {ran} ms");
    let later = world.store.hours(world.now().await + 3_600_000).await.unwrap();
    assert_eq!(later, []);
}

/// A position that was passed counts nothing, and neither does a transition under a new position.
pub async fn a_repeat_counts_nothing(harness: &dyn Harness) {
    let world = World::new(harness).await;
    failed_and_done(&world).await;
    let events = world.events().await;
    record(&world, 7, 10, &events).await;
    let before = sums(&world).await;
    let repeated = events.len();
    assert_eq!(
        record(&world, 7, 10, &events).await,
        Recorded {
            fresh: 0,
            repeated,
            position: 10
        }
    );
    assert_eq!(
        record(&world, 7, 9, &events).await,
        Recorded {
            fresh: 0,
            repeated,
            position: 10
        }
    );
    assert_eq!(
        record(&world, 7, 11, &events).await,
        Recorded {
            fresh: 0,
            repeated,
            position: 11
        }
    );
    let twice: Vec<_> = events.iter().chain(&events).cloned().collect();
    assert_eq!(record(&world, 7, 12, &twice).await.fresh, 0);
    assert_eq!(sums(&world).await, before);
}

/// Parts in any order, with overlaps, add up to the same.
pub async fn any_order_counts_the_same(harness: &dyn Harness) {
    let world = World::new(harness).await;
    failed_and_done(&world).await;
    failed_and_done(&world).await;
    let mut events = world.events().await;
    events.reverse();
    let mut fresh = 0;
    for at in 0..events.len() {
        let end = events.len().min(at + 3);
        fresh += record(&world, 7, at as u64 + 1, &events[at..end]).await.fresh;
    }
    assert_eq!(fresh, 12);
    let sums = sums(&world).await;
    assert_eq!(
        (
            count(&sums, "running"),
            count(&sums, "success"),
            count(&sums, "failed")
        ),
        (4, 2, 2)
    );
    assert_eq!(world.all_unrecorded().await, []);
}

/// A position of another epoch starts anew; what was counted is known all the same.
pub async fn a_new_stream_starts_anew(harness: &dyn Harness) {
    let world = World::new(harness).await;
    failed_and_done(&world).await;
    let events = world.events().await;
    record(&world, 7, 1_000, &events[..4]).await;
    let recorded = record(&world, 8, 1, &events).await;
    assert_eq!(
        recorded,
        Recorded {
            fresh: events.len() - 4,
            repeated: 4,
            position: 1
        }
    );
    assert_eq!(world.store.recorded(world.partition).await.unwrap(), (8, 1));
}

/// Before anything is recorded the position is 0 of epoch 0.
pub async fn a_fresh_store_has_recorded_nothing(harness: &dyn Harness) {
    let world = World::new(harness).await;
    assert_eq!(world.store.recorded(world.partition).await.unwrap(), (0, 0));
    assert_eq!(world.store.hours(0).await.unwrap(), []);
    assert_eq!(world.all_unrecorded().await, []);
}

/// Every timeline with a transition that is not recorded is told whole; the others are not.
pub async fn what_is_not_recorded_is_told_again(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let known = failed_and_done(&world).await;
    world.record_outbox(1).await;
    let new: Vec<_> = (0..64).map(|_| world.task()).collect();
    world.admit_all(&new).await;
    let set = crate::Operation::Set {
        max_retry: Some(1),
        next_run_time: None,
        run_timeout_ms: None,
    };
    world.operate(known, set).await.unwrap();
    let told = world.all_unrecorded().await;
    for task in &new {
        assert!(
            told.iter()
                .any(|event| event.task_id == task.id && event.version == 1 && event.to == Status::Pending)
        );
    }
    let mut versions: Vec<_> = told.iter().filter(|event| event.task_id == known).collect();
    versions.sort_by_key(|event| event.version);
    let timeline = world.timeline(known).await;
    assert_eq!(versions.len(), timeline.len());
    for (event, item) in versions.into_iter().zip(timeline) {
        assert_eq!(
            (event.version, event.from, event.to, event.at),
            (item.version, item.from, item.to, item.at)
        );
        assert_eq!(
            (event.error_class, &event.error_code, &event.reason),
            (item.error_class, &item.error_code, &item.reason)
        );
        assert_eq!(event.task_type, TYPE);
    }
    assert_eq!(record(&world, 1, 2, &told).await.fresh, 65);
    assert_eq!(world.all_unrecorded().await, []);
}

/// What is removed between two pages shifts nothing: no task with unrecorded transitions is left out.
pub async fn what_leaves_meanwhile_shifts_nothing(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let rejected = |_| crate::NewTask {
        rejected: Some("no".into()),
        ..world.task()
    };
    let old: Vec<_> = (0..crate::BATCH_MAX).map(rejected).collect();
    world.admit_all(&old).await;
    world.record_outbox(1).await;
    let new: Vec<_> = (0..2 * crate::BATCH_MAX).map(|_| world.task()).collect();
    for part in new.chunks(crate::BATCH_MAX) {
        world.admit_all(part).await;
    }
    let first = world.store.unrecorded(world.partition, 0).await.unwrap();
    world.pass(2_000).await;
    while world.retain_after(1_000).await.tasks > 0 {}
    let (mut told, mut cursor) = first;
    while let Some(at) = cursor {
        let (more, next) = world.store.unrecorded(world.partition, at).await.unwrap();
        told.extend(more);
        cursor = next;
    }
    let told: Vec<_> = told.iter().map(|event| event.task_id).collect();
    assert_eq!(told, new.iter().map(|task| task.id).collect::<Vec<_>>());
}

async fn most(world: &World<'_>) -> Vec<(String, u32)> {
    let stats = world.store.stats(world.partition).await.unwrap();
    stats.attempts_max.into_iter().collect()
}

/// The most attempts that a task of a type needed are known today and tomorrow, once they are recorded.
pub async fn the_most_attempts_of_late_are_known_by_type(harness: &dyn Harness) {
    let world = World::new(harness).await;
    failed_and_done(&world).await;
    assert_eq!(most(&world).await, []);
    world.record_outbox(1).await;
    assert_eq!(most(&world).await, [(TYPE.to_owned(), 2)]);
    // One of another type waits, so that nobody tried it; one of this type needs less.
    let waits = crate::NewTask {
        task_type: super::new_task::OTHER.into(),
        delay_ms: 3_600_000,
        ..world.task()
    };
    world.create(waits).await;
    let once = world.running().await;
    world.complete(once.0, once.1).await.unwrap();
    world.record_outbox(2).await;
    assert_eq!(most(&world).await, [(TYPE.to_owned(), 2)]);
    world.outage(24 * 3_600_000).await;
    world.beat(&[]).await;
    assert_eq!(most(&world).await, [(TYPE.to_owned(), 2)], "it is yesterday's");
    world.outage(24 * 3_600_000).await;
    world.beat(&[]).await;
    assert_eq!(most(&world).await, [], "nothing happened for a day");
}
