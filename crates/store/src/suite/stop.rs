//! A stop that somebody asked of a run: marked, told by the heartbeat, done when the run has ended.

use domain::{ErrorClass, Rejection, Status, Stop, TaskId, Token};

use super::Harness;
use super::world::{LEASE_MS, World};
use crate::{Heartbeat, Operation};

const RESET: Operation = Operation::Reset { max_retry: None };

async fn asked(world: &World<'_>, operation: Operation) -> (TaskId, Token) {
    let (id, token) = world.running().await;
    assert_eq!(world.operate(id, operation).await, Ok((Status::Running, 3)));
    (id, token)
}

/// A cancel of a run is told by the heartbeat and done by `stopped`.
pub async fn a_running_task_is_cancelled_when_it_ended(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let (id, token) = asked(&world, Operation::Cancel).await;
    assert_eq!(world.record(id).await.stop, Some(Stop::Cancel));
    assert_eq!(world.beat(&[(id, token)]).await, [Heartbeat::Stop(Stop::Cancel)]);
    assert_eq!(world.stopped(id, token).await, Ok((Status::Cancelled, 4)));
    let task = world.record(id).await;
    assert_eq!((task.stop, task.lease_token, task.deadline), (None, None, 0));
    assert_eq!(world.timeline(id).await[3].reason, "cancel asked");
    assert_eq!(world.store.stats(world.partition).await.unwrap().running, 0);
}

/// A reset of a run makes it due at once when it ended.
pub async fn a_running_task_is_reset_when_it_ended(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let (id, token) = asked(&world, Operation::Reset { max_retry: Some(8) }).await;
    assert_eq!(world.beat(&[(id, token)]).await, [Heartbeat::Stop(Stop::Reset)]);
    assert_eq!(world.stopped(id, token).await, Ok((Status::Pending, 4)));
    let task = world.record(id).await;
    assert_eq!((task.max_retry, task.next_run_time), (8, task.update_time));
    world.start(id).await;
    assert_eq!(world.record(id).await.attempt, 2);
}

/// The last stop that was asked is the one that counts.
pub async fn the_last_stop_counts(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let (id, token) = asked(&world, RESET).await;
    assert_eq!(
        world.operate(id, Operation::Cancel).await,
        Ok((Status::Running, 4))
    );
    assert_eq!(world.stopped(id, token).await, Ok((Status::Cancelled, 5)));
}

/// Nobody may say that a run was stopped if nobody asked.
pub async fn a_stop_must_have_been_asked(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let (id, token) = world.running().await;
    assert_eq!(world.stopped(id, token).await, Err(Rejection::NotAsked));
    assert_eq!(world.record(id).await.version, 2);
}

/// A run that ends by itself before it saw the stop: success stays success, a failure obeys.
pub async fn a_run_may_end_before_it_saw_the_stop(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let (id, token) = asked(&world, Operation::Cancel).await;
    assert_eq!(world.complete(id, token).await, Ok((Status::Success, 4)));
    for class in [
        ErrorClass::Transient,
        ErrorClass::Deterministic,
        ErrorClass::Timeout,
    ] {
        let (id, token) = asked(&world, Operation::Cancel).await;
        assert_eq!(
            world.fail(id, token, class, 0).await,
            Ok((Status::Cancelled, 4)),
            "{class:?}"
        );
        assert_eq!(world.view(id).await.error, "connection refused");
        let (id, token) = asked(&world, RESET).await;
        assert_eq!(
            world.fail(id, token, class, 60_000).await,
            Ok((Status::Pending, 4)),
            "{class:?}"
        );
        let task = world.record(id).await;
        assert_eq!((task.next_run_time, task.retry_count), (task.update_time, 0));
    }
}

/// A task that is handed back obeys a cancel, and is due at once otherwise.
pub async fn a_handed_back_task_obeys_a_cancel(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let (id, token) = asked(&world, Operation::Cancel).await;
    assert_eq!(world.hand_back(id, token).await, Ok((Status::Cancelled, 4)));
    let (id, token) = asked(&world, RESET).await;
    assert_eq!(world.hand_back(id, token).await, Ok((Status::Pending, 4)));
    assert_eq!(world.record(id).await.stop, None);
}

/// A lease that ends under a stop: a cancel is done, a reset is as good as the loss.
pub async fn a_reclaimed_task_obeys_a_cancel(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let (cancelled, _) = asked(&world, Operation::Cancel).await;
    let (reset, _) = asked(&world, RESET).await;
    world.pass(LEASE_MS + 1_000).await;
    let mut reclaimed = world.reclaim().await;
    reclaimed.sort();
    let expected = [(cancelled, (Status::Cancelled, 5)), (reset, (Status::Pending, 5))];
    assert_eq!(reclaimed, expected);
    assert_eq!(world.record(reset).await.stop, None);
    world.start(reset).await;
}

/// A handed back task spends no attempt and no retry, and starts again at once.
pub async fn a_hand_back_spends_nothing(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let (id, token) = world.running().await;
    assert_eq!(world.hand_back(id, token).await, Ok((Status::Pending, 3)));
    let task = world.record(id).await;
    assert_eq!((task.attempt, task.retry_count, task.losses), (0, 0, 0));
    assert_eq!(world.timeline(id).await[2].reason, "handed back");
    world.start(id).await;
    assert_eq!(world.record(id).await.attempt, 1);
}
