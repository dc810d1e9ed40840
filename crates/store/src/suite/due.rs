//! Tasks that wait for their time become ready when it comes.

use domain::{ErrorClass, Status, SubState, Tier};

use super::Harness;
use super::new_task::{OTHER, POOL, TYPE};
use super::world::World;
use crate::NewTask;

/// A delayed task is not ready before its time, and is after.
pub async fn a_delay_ends_in_its_time(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let id = world
        .create(NewTask {
            delay_ms: 20_000,
            ..world.task()
        })
        .await;
    let task = world.record(id).await;
    assert_eq!(task.next_run_time, task.create_time + 20_000);
    assert_eq!(world.status(id).await, (Status::Pending, Some(SubState::Delayed)));
    assert_eq!(world.store.stats(world.partition).await.unwrap().delayed, 1);
    world.pass(15_000).await;
    assert_eq!(world.release().await.count, 0);
    assert_eq!(world.dispatch(64).await, []);
    world.pass(5_000).await;
    let released = world.release().await;
    assert_eq!((released.count, released.more), (1, false));
    assert_eq!(
        released.queues,
        [(POOL.to_owned(), Tier::Normal, TYPE.to_owned())]
    );
    assert_eq!(world.status(id).await, (Status::Pending, Some(SubState::Ready)));
    assert_eq!(world.ready().await, (1, task.next_run_time));
    assert_eq!(world.path(id).await, [Status::Pending]);
    assert_eq!(world.dispatch(64).await, [id]);
}

/// A task may name the instant; one that is past means now.
pub async fn an_instant_may_be_named(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let at = world.now().await + 30_000;
    let later = world.create(NewTask { at, ..world.task() }).await;
    let past = world
        .create(NewTask {
            at: 1_000,
            ..world.task()
        })
        .await;
    let (later_task, past_task) = (world.record(later).await, world.record(past).await);
    assert_eq!(later_task.next_run_time, at);
    assert_eq!(past_task.next_run_time, past_task.create_time);
    assert_eq!(world.dispatch(64).await, [past]);
    world.pass(31_000).await;
    world.release().await;
    assert!(world.dispatch(64).await.contains(&later));
}

/// A retry waits for its backoff, then is ready, and keeps its status until it is claimed.
pub async fn a_retry_waits_for_its_backoff(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let (id, token) = world.running().await;
    let verdict = world.fail(id, token, ErrorClass::Transient, 20_000).await;
    assert_eq!(verdict, Ok((Status::Retrying, 4)));
    assert_eq!(
        world.status(id).await,
        (Status::Retrying, Some(SubState::Delayed))
    );
    world.pass(15_000).await;
    assert_eq!(world.release().await.count, 0);
    world.pass(6_000).await;
    assert_eq!(world.release().await.count, 1);
    assert_eq!(world.status(id).await, (Status::Retrying, Some(SubState::Ready)));
    let token = world.start(id).await;
    let task = world.record(id).await;
    assert_eq!((task.attempt, task.retry_count), (2, 1));
    assert_eq!(task.ready_at, task.next_run_time);
    world.complete(id, token).await.unwrap();
}

/// At most a batch a call, and the reply says that more are due.
pub async fn a_release_is_bounded(harness: &dyn Harness) {
    let world = World::new(harness).await;
    for count in [64, 6] {
        let new: Vec<_> = (0..count)
            .map(|_| NewTask {
                delay_ms: 1_000,
                ..world.task()
            })
            .collect();
        world.admit_all(&new).await;
    }
    world.pass(2_000).await;
    let first = world.release().await;
    assert_eq!((first.count, first.more), (64, true));
    let second = world.release().await;
    assert_eq!((second.count, second.more), (6, false));
    assert_eq!(world.release().await.count, 0);
    assert_eq!(world.ready().await.0, 70);
}

/// Each queue that became non-empty is named once.
pub async fn a_release_names_its_queues(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let delayed = || NewTask {
        delay_ms: 1_000,
        ..world.task()
    };
    let other = NewTask {
        task_type: OTHER.into(),
        ..delayed()
    };
    let low = NewTask {
        tier: Tier::Low,
        ..delayed()
    };
    world.admit_all(&[delayed(), delayed(), other, low]).await;
    world.pass(2_000).await;
    let mut queues = world.release().await.queues;
    queues.sort();
    let queue = |tier, name: &str| (POOL.to_owned(), tier, name.to_owned());
    assert_eq!(
        queues,
        [
            queue(Tier::Normal, TYPE),
            queue(Tier::Normal, OTHER),
            queue(Tier::Low, TYPE)
        ]
    );
}

/// A repeat of a release answers as the first did, even where more became due in between.
pub async fn a_repeated_release_moves_nothing(harness: &dyn Harness) {
    let world = World::new(harness).await;
    world
        .create(NewTask {
            delay_ms: 1_000,
            ..world.task()
        })
        .await;
    let later = world
        .create(NewTask {
            delay_ms: 5_000,
            ..world.task()
        })
        .await;
    world.pass(2_000).await;
    let nonce = world.nonce();
    let first = world.store.release_due(world.partition, nonce).await.unwrap();
    world.pass(5_000).await;
    assert_eq!(
        world.store.release_due(world.partition, nonce).await.unwrap(),
        first
    );
    assert_eq!((first.count, world.ready().await.0), (1, 1));
    assert_eq!(world.release().await.count, 1);
    assert_eq!(world.status(later).await.1, Some(SubState::Ready));
}
