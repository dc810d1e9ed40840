//! What operators do to tasks that wait or have ended.

use domain::{ErrorClass, Rejection, Status, SubState};

use super::Harness;
use super::world::{World, origin};
use crate::{NewTask, Operation, Origin, TIMELINE_MAX};

const RETRY: Operation = Operation::Retry { max_retry: None };

const fn set(max_retry: Option<u16>, next_run_time: Option<i64>, run_timeout_ms: Option<i64>) -> Operation {
    Operation::Set {
        max_retry,
        next_run_time,
        run_timeout_ms,
    }
}

/// A waiting task is cancelled at once, wherever it waits, and never starts.
pub async fn a_waiting_task_is_cancelled_at_once(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let dispatched = world.create(world.task()).await;
    world.dispatch(1).await;
    let ready = world.create(world.task()).await;
    let delayed = world
        .create(NewTask {
            delay_ms: 1_000,
            ..world.task()
        })
        .await;
    for id in [dispatched, ready, delayed] {
        assert_eq!(
            world.operate(id, Operation::Cancel).await,
            Ok((Status::Cancelled, 2))
        );
        let task = world.record(id).await;
        assert_eq!(task.finished_at, task.update_time);
    }
    world.pass(11_000).await;
    assert_eq!(
        (world.release().await.count, world.dispatch(64).await.len()),
        (0, 0)
    );
    assert_eq!(world.ready().await, (0, 0));
}

/// A dead or cancelled task runs again with its counts at 0.
pub async fn a_dead_task_is_retried_by_hand(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let (id, token) = world
        .running_as(NewTask {
            expire_after_ms: 60_000,
            ..world.task()
        })
        .await;
    world.fail(id, token, ErrorClass::Transient, 0).await.unwrap();
    let token = world.start(id).await;
    world.fail(id, token, ErrorClass::Deterministic, 0).await.unwrap();
    let verdict = world.operate(id, Operation::Retry { max_retry: Some(7) }).await;
    assert_eq!(verdict, Ok((Status::Pending, 8)));
    let task = world.record(id).await;
    assert_eq!(
        (task.retry_count, task.losses, task.max_retry, task.attempt),
        (0, 0, 7, 2)
    );
    assert_eq!(
        (task.finished_at, task.expire_at, task.next_run_time),
        (0, 0, task.update_time)
    );
    let token = world.start(id).await;
    assert_eq!(world.complete(id, token).await, Ok((Status::Success, 10)));
    assert_eq!(world.operate(id, RETRY).await, Err(Rejection::Illegal));
}

/// A reset makes what waits due now.
pub async fn a_waiting_task_is_reset_to_now(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let delayed = world
        .create(NewTask {
            delay_ms: 3_600_000,
            ..world.task()
        })
        .await;
    let (retrying, token) = world.running().await;
    world
        .fail(retrying, token, ErrorClass::Transient, 3_600_000)
        .await
        .unwrap();
    for id in [delayed, retrying] {
        let (status, _) = world
            .operate(id, Operation::Reset { max_retry: None })
            .await
            .unwrap();
        assert_eq!(status, Status::Pending);
        assert_eq!(world.status(id).await.1, Some(SubState::Ready));
        world.start(id).await;
    }
}

/// `set` changes fields and never the status, on every resting status.
pub async fn set_changes_fields_alone(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let pending = world.create(world.task()).await;
    let (running, _) = world.running().await;
    let (done, token) = world.running().await;
    world.complete(done, token).await.unwrap();
    for id in [pending, running, done] {
        let before = world.record(id).await;
        world.operate(id, set(Some(11), None, Some(5_000))).await.unwrap();
        let after = world.record(id).await;
        assert_eq!(
            (after.max_retry, after.run_timeout_ms, after.version),
            (11, 5_000, before.version + 1)
        );
        assert_eq!(
            (after.status, after.next_run_time),
            (before.status, before.next_run_time)
        );
        assert_eq!(
            (after.finished_at, after.deadline),
            (before.finished_at, before.deadline)
        );
    }
    let last = world.timeline(done).await.pop().unwrap();
    assert_eq!(
        (last.from, last.reason.as_str()),
        (Some(Status::Success), "set by hand")
    );
}

/// `set` with fields alone leaves a waiting task where it waits.
pub async fn set_keeps_the_place_in_line(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let first = world.create(world.task()).await;
    let second = world.create(world.task()).await;
    world.operate(first, set(Some(1), None, None)).await.unwrap();
    assert_eq!(world.dispatch(64).await, [first, second]);
    world.operate(first, set(Some(2), None, None)).await.unwrap();
    assert_eq!(world.status(first).await.1, Some(SubState::Dispatched));
}

/// A new due time moves a waiting task, out of the queue or a dispatch too, and is ignored where nothing waits.
pub async fn set_moves_the_due_time(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let dispatched = world.create(world.task()).await;
    world.dispatch(1).await;
    let ready = world.create(world.task()).await;
    let at = world.now().await + 60_000;
    for id in [dispatched, ready] {
        world.operate(id, set(None, Some(at), None)).await.unwrap();
        assert_eq!(world.status(id).await, (Status::Pending, Some(SubState::Delayed)));
        assert_eq!(world.record(id).await.next_run_time, at);
    }
    world.pass(11_000).await;
    assert_eq!(
        (world.release().await.count, world.dispatch(64).await.len()),
        (0, 0)
    );
    world.pass(50_000).await;
    assert_eq!(world.release().await.count, 2);
    let token = world.start(ready).await;
    let before = world.record(ready).await.next_run_time;
    world
        .operate(ready, set(None, Some(at + 5_000), None))
        .await
        .unwrap();
    assert_eq!(world.record(ready).await.next_run_time, before);
    world.complete(ready, token).await.unwrap();
}

/// Actor, node and reason of a person stand in the timeline.
pub async fn the_person_stands_in_the_timeline(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let id = world.create(world.task()).await;
    let origin = Origin {
        actor: "bob".into(),
        node: "console".into(),
        reason: "夜间停机".into(),
    };
    world
        .store
        .operate(world.partition, world.nonce(), &origin, Operation::Cancel, &[id])
        .await
        .unwrap();
    let last = world.timeline(id).await.pop().unwrap();
    assert_eq!(
        (last.actor.as_str(), last.node.as_str(), last.reason.as_str()),
        ("bob", "console", "夜间停机")
    );
    assert_eq!(world.record(id).await.actor, "suite", "the submitter stays");
}

/// A timeline keeps the newest transitions; the version goes on.
pub async fn a_timeline_keeps_the_newest(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let id = world.create(world.task()).await;
    for _ in 0..TIMELINE_MAX + 5 {
        world
            .store
            .operate(
                world.partition,
                world.nonce(),
                &origin(),
                set(None, None, None),
                &[id],
            )
            .await
            .unwrap();
    }
    let items = world.timeline(id).await;
    assert_eq!(
        (items.len(), items[0].version, items[63].version),
        (TIMELINE_MAX, 7, 70)
    );
}
