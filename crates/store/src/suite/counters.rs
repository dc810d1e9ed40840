//! Counters equal what they count (I9).

use std::collections::BTreeMap;

use domain::{ErrorClass, Status, SubState, TaskId, Tier, Token};

use super::Harness;
use super::new_task::{OTHER, POOL, TYPE};
use super::world::{LEASE_MS, World, twice};
use crate::{Claimed, NewTask, Operation, Page, TaskFilter};

/// Counts of tasks and indices against a look at every task.
async fn check(world: &World<'_>, when: &str) {
    let page = Page {
        limit: 1_000,
        cursor: None,
    };
    let tasks = world
        .store
        .list(&TaskFilter::default(), &page)
        .await
        .unwrap()
        .items;
    let mut stats = world.store.stats(world.partition).await.unwrap();
    stats.by_type.retain(|_, count| *count > 0);
    let mut by_type: BTreeMap<(String, Status), u64> = BTreeMap::new();
    for view in &tasks {
        *by_type
            .entry((view.task.task_type.clone(), view.task.status))
            .or_default() += 1;
    }
    assert_eq!(stats.by_type, by_type, "{when}");
    let count =
        |test: &dyn Fn(&crate::TaskView) -> bool| tasks.iter().filter(|view| test(view)).count() as u64;
    assert_eq!(
        stats.running,
        count(&|view| view.task.status == Status::Running),
        "{when}"
    );
    assert_eq!(
        stats.dispatched,
        count(&|view| view.sub_state == Some(SubState::Dispatched)),
        "{when}"
    );
    let queues = world.store.queues(world.partition, &[POOL.into()]).await.unwrap();
    let ready: u64 = queues.iter().map(|queue| queue.ready).sum();
    let waits = |view: &crate::TaskView| matches!(view.sub_state, Some(SubState::Delayed | SubState::Ready));
    assert_eq!(stats.delayed + ready, count(&waits), "{when}");
    let outbox = world.store.outbox(world.partition, 0, 10_000).await.unwrap();
    assert_eq!(stats.outbox, outbox.len() as u64, "{when}");
}

/// Twelve tasks of two types: ready, but for one rejected and one delayed.
async fn twelve(world: &World<'_>) {
    let new: Vec<_> = (0..12)
        .map(|n| NewTask {
            task_type: if n % 3 == 0 { OTHER } else { TYPE }.into(),
            delay_ms: if n == 11 { 5_000 } else { 0 },
            rejected: (n == 10).then(|| "no".into()),
            ..world.task()
        })
        .collect();
    world.admit_all(&new).await;
    check(world, "admitted").await;
}

/// Seven tasks that run, after one of eight dispatched ones was put back.
async fn seven_run(world: &World<'_>) -> Vec<(TaskId, Token)> {
    let ids = world.dispatch(8).await;
    check(world, "dispatched").await;
    let claimed = world.claim_all(&ids[..7]).await.items;
    check(world, "claimed").await;
    twice!(world, undispatch(&ids[7..]));
    check(world, "undispatched").await;
    let lease = |claimed: Claimed| match claimed {
        Claimed::Run { task, .. } => (task.id, task.lease_token.unwrap()),
        other => panic!("{other:?}"),
    };
    claimed.into_iter().map(lease).collect()
}

/// Through a life with every kind of end the counters stay equal to what they count, and the sweep finds nothing.
pub async fn counters_follow_every_verb(harness: &dyn Harness) {
    let world = World::new(harness).await;
    twelve(&world).await;
    let runs = seven_run(&world).await;
    world.complete(runs[0].0, runs[0].1).await.unwrap();
    let ends = [
        (1, ErrorClass::Transient, 1_000),
        (2, ErrorClass::Deterministic, 0),
        (3, ErrorClass::Timeout, 0),
    ];
    for (at, class, delay_ms) in ends {
        world.fail(runs[at].0, runs[at].1, class, delay_ms).await.unwrap();
    }
    world.hand_back(runs[4].0, runs[4].1).await.unwrap();
    check(&world, "ended").await;
    world.operate(runs[5].0, Operation::Cancel).await.unwrap();
    world.stopped(runs[5].0, runs[5].1).await.unwrap();
    world
        .operate(runs[2].0, Operation::Retry { max_retry: None })
        .await
        .unwrap();
    world.operate(runs[1].0, Operation::Cancel).await.unwrap();
    check(&world, "operated").await;
    world.pass(LEASE_MS + 6_000).await;
    world.release().await;
    assert_eq!(world.reclaim().await.len(), 1);
    check(&world, "reclaimed").await;
    world.record_outbox(1).await;
    assert_eq!(world.retain_after(1_000).await.tasks, 4);
    check(&world, "removed").await;
    assert_eq!(twice!(world, sweep()), []);
}

/// A queue tells how many wait and since when the oldest; an empty one tells 0.
pub async fn a_queue_tells_its_length_and_age(harness: &dyn Harness) {
    let world = World::new(harness).await;
    assert_eq!(world.ready().await, (0, 0));
    let first = world.create(world.task()).await;
    world.pass(3_000).await;
    world
        .create(NewTask {
            task_type: OTHER.into(),
            ..world.task()
        })
        .await;
    world
        .create(NewTask {
            tier: Tier::Low,
            ..world.task()
        })
        .await;
    assert_eq!(world.ready().await, (2, world.record(first).await.create_time));
    world.dispatch(64).await;
    assert_eq!(world.ready().await, (0, 0));
    let queues = world
        .store
        .queues(world.partition, &["elsewhere".into()])
        .await
        .unwrap();
    assert!(queues.iter().all(|queue| (queue.ready, queue.oldest) == (0, 0)));
}

/// What happens in one partition is not counted in another.
pub async fn partitions_count_for_themselves(harness: &dyn Harness) {
    let world = World::new(harness).await;
    world.running().await;
    world.create(world.task()).await;
    let other = world.store.stats(0).await.unwrap();
    assert!(other.by_type.values().all(|count| *count == 0));
    assert_eq!(
        (other.running, other.dispatched, other.delayed, other.outbox),
        (0, 0, 0, 0)
    );
}
