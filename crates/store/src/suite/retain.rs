//! Terminal tasks leave after their time, once they are recorded whole.

use domain::{ErrorClass, Status, TaskId};

use super::Harness;
use super::world::{World, twice};
use crate::{NewTask, Operation, Removed, Retention, TaskFilter};

const KEEP: Retention = Retention {
    success_ms: 86_400_000,
    cancelled_ms: 86_400_000,
    dead_ms: 86_400_000,
    count: 1_000,
};

async fn retain(world: &World<'_>, retention: Retention) -> Removed {
    twice!(world, retain(&retention))
}

async fn done(world: &World<'_>) -> TaskId {
    let (id, token) = world.running().await;
    world.complete(id, token).await.unwrap();
    id
}

async fn is_there(world: &World<'_>, id: TaskId) -> bool {
    world.store.get(id).await.unwrap().is_some()
}

/// Each status has its own age.
pub async fn each_status_has_its_age(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let success = done(&world).await;
    let cancelled = world.create(world.task()).await;
    world.operate(cancelled, Operation::Cancel).await.unwrap();
    let (dead, token) = world.running().await;
    world
        .fail(dead, token, ErrorClass::Deterministic, 0)
        .await
        .unwrap();
    let waiting = world
        .create(NewTask {
            delay_ms: 3_600_000,
            ..world.task()
        })
        .await;
    world.record_outbox(1).await;
    assert_eq!(retain(&world, KEEP).await.tasks, 0);
    let retention = Retention {
        success_ms: 20_000,
        cancelled_ms: 40_000,
        dead_ms: 60_000,
        ..KEEP
    };
    for (passed, left) in [(15_000, 3), (6_000, 2), (20_000, 1), (20_000, 0)] {
        world.pass(passed).await;
        retain(&world, retention).await;
        let mut there = 0;
        for id in [success, cancelled, dead] {
            there += u32::from(is_there(&world, id).await);
        }
        assert_eq!(there, left, "after {passed} ms more");
    }
    assert!(is_there(&world, waiting).await);
    assert_eq!(world.store.timeline(dead).await.unwrap(), []);
}

/// What the recorder has not seen whole stays, however old.
pub async fn what_is_not_recorded_stays(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let id = done(&world).await;
    let mut events = world.events().await;
    let last = events.pop().unwrap();
    world.store.record(world.partition, 1, 1, &events).await.unwrap();
    world.pass(60_000).await;
    assert_eq!(world.retain_after(1_000).await.tasks, 0);
    assert!(is_there(&world, id).await);
    world.store.record(world.partition, 1, 2, &[last]).await.unwrap();
    assert_eq!(world.retain_after(1_000).await.tasks, 1);
    assert!(!is_there(&world, id).await);
}

/// An operator's act after the recording makes a task unrecorded again.
pub async fn a_later_transition_must_be_recorded_too(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let id = done(&world).await;
    world.record_outbox(1).await;
    let set = Operation::Set {
        max_retry: Some(1),
        next_run_time: None,
        run_timeout_ms: None,
    };
    world.operate(id, set).await.unwrap();
    world.pass(60_000).await;
    assert_eq!(world.retain_after(1_000).await.tasks, 0);
    world.record_outbox(2).await;
    assert_eq!(world.retain_after(1_000).await.tasks, 1);
}

/// Over the count the oldest leave, whatever their age.
pub async fn over_the_count_the_oldest_leave(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(done(&world).await);
        world.pass(1_000).await;
    }
    world.record_outbox(1).await;
    assert_eq!(retain(&world, Retention { count: 3, ..KEEP }).await.tasks, 2);
    for (at, id) in ids.into_iter().enumerate() {
        assert_eq!(is_there(&world, id).await, at >= 2, "number {at}");
    }
}

/// A bounded number a call; calls until nothing more is said to be there remove all, and the counters follow.
pub async fn a_removal_is_bounded_and_counted(harness: &dyn Harness) {
    let world = World::new(harness).await;
    for _ in 0..3 {
        let new: Vec<_> = (0..50)
            .map(|_| NewTask {
                rejected: Some("no".into()),
                ..world.task()
            })
            .collect();
        world.admit_all(&new).await;
    }
    world.record_outbox(1).await;
    world.pass(2_000).await;
    let mut removed = 0;
    for _ in 0..150 {
        let reply = world.retain_after(1_000).await;
        assert!(reply.tasks <= crate::BATCH_MAX);
        removed += reply.tasks;
        if !reply.more && reply.tasks == 0 {
            break;
        }
    }
    assert_eq!(removed, 150);
    assert!(
        world
            .store
            .stats(world.partition)
            .await
            .unwrap()
            .by_type
            .values()
            .all(|count| *count == 0)
    );
    assert_eq!(world.listed(&TaskFilter::default()).await, []);
}

/// A task that was retried by hand after it had died does not leave while it waits or runs.
pub async fn a_revived_task_stays(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let (id, token) = world.running().await;
    world.fail(id, token, ErrorClass::Deterministic, 0).await.unwrap();
    world
        .operate(id, Operation::Retry { max_retry: None })
        .await
        .unwrap();
    let token = world.start(id).await;
    world.record_outbox(1).await;
    world.pass(20_000).await;
    assert_eq!(world.retain_after(1_000).await.tasks, 0);
    assert_eq!(world.complete(id, token).await.unwrap().0, Status::Success);
}

/// A repeat of a removal answers as the first did and removes nothing more.
pub async fn a_repeated_removal_removes_nothing(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let first = done(&world).await;
    world.pass(10_000).await;
    let second = done(&world).await;
    world.record_outbox(1).await;
    let retention = Retention {
        success_ms: 5_000,
        ..KEEP
    };
    let nonce = world.nonce();
    let removed = world
        .store
        .retain(world.partition, nonce, &retention)
        .await
        .unwrap();
    assert_eq!(removed.tasks, 1);
    world.pass(10_000).await;
    assert_eq!(
        world
            .store
            .retain(world.partition, nonce, &retention)
            .await
            .unwrap(),
        removed
    );
    assert_eq!(
        (is_there(&world, first).await, is_there(&world, second).await),
        (false, true)
    );
}
