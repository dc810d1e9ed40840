//! Submissions become tasks.

use domain::{ErrorClass, Rejection, Status, SubState, TaskId, Tier};

use super::Harness;
use super::new_task::{OTHER, POOL, TYPE};
use super::world::{World, origin};
use crate::{Admitted, Claimed, Error, Hint, NewTask, Origin};

const fn created(id: TaskId, status: Status, hint: Hint) -> Admitted {
    Admitted::Created { id, status, hint }
}

/// A submission in which every field says something.
fn full(world: &World<'_>) -> NewTask {
    NewTask {
        tier: Tier::Critical,
        max_retry: 9,
        max_lost: 4,
        run_timeout_ms: 1_234,
        schedule_id: "nightly".into(),
        planned_at: 1_764_000_000_000,
        batch_id: Some(TaskId::new(2, [4; 10])),
        batch_row: 17,
        parent_id: Some(TaskId::new(1, [3; 10])),
        sampled: true,
        trace_link: "00-aa-bb-01".into(),
        expire_after_ms: 90_000,
        ..world.keyed(TYPE, "k", 60_000)
    }
}

/// Every field of a submission stands in the record, and what the store adds.
pub async fn a_submission_becomes_one_task(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let new = full(&world);
    let id = new.id;
    assert_eq!(
        world.admit(new.clone()).await,
        created(id, Status::Pending, Hint::Ready)
    );
    let view = world.view(id).await;
    let (task, now) = (&view.task, view.task.create_time);
    assert_eq!((view.sub_state, view.error.as_str()), (Some(SubState::Ready), ""));
    assert_eq!(
        (&view.payload, task.payload_sha256),
        (&new.payload, new.payload_sha256)
    );
    assert_eq!(
        (task.tier, task.effective_tier, task.actor.as_str()),
        (new.tier, new.tier, "suite")
    );
    assert_eq!((task.task_type.as_str(), task.pool.as_str()), (TYPE, POOL));
    assert_eq!(
        (task.max_retry, task.max_lost, task.run_timeout_ms),
        (9, 4, 1_234)
    );
    assert_eq!(
        (&task.schedule_id, task.planned_at),
        (&new.schedule_id, new.planned_at)
    );
    assert_eq!(
        (task.batch_id, task.batch_row, task.parent_id),
        (new.batch_id, 17, new.parent_id)
    );
    assert_eq!((task.sampled, &task.trace_link), (true, &new.trace_link));
    assert_eq!(
        (&task.idempotency_key, task.key_until),
        (&new.idempotency_key, now + 60_000)
    );
    assert_eq!(
        (task.update_time, task.next_run_time, task.expire_at),
        (now, now, now + 90_000)
    );
    assert_eq!(
        (task.version, task.attempt, task.retry_count, task.losses),
        (1, 0, 0, 0)
    );
}

/// What has not happened yet is 0 or none, and the first transition stands in the timeline.
pub async fn a_new_task_has_no_past(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let id = world.create(full(&world)).await;
    let task = world.record(id).await;
    assert_eq!((task.ready_at, task.dispatched_at, task.claimed_at), (0, 0, 0));
    assert_eq!((task.finished_at, task.deadline, task.loss_since), (0, 0, 0));
    assert_eq!(
        (task.lease_token, task.stop, task.error_class),
        (None, None, None)
    );
    assert_eq!((task.executor_id.as_str(), task.error_code.as_str()), ("", ""));
    let timeline = world.timeline(id).await;
    assert_eq!(timeline.len(), 1);
    let first = &timeline[0];
    assert_eq!(
        (first.version, first.from, first.at, first.attempt),
        (1, None, task.create_time, 0)
    );
    assert_eq!(
        (first.actor.as_str(), first.node.as_str(), first.reason.as_str()),
        ("suite", "here", "")
    );
}

/// A rejected submission is dead from the start, with the error's text.
pub async fn a_rejected_submission_is_dead_at_once(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let text = "room_id: 夜 is no number";
    let new = NewTask {
        rejected: Some(text.into()),
        delay_ms: 5_000,
        ..world.task()
    };
    let id = new.id;
    assert_eq!(world.admit(new).await, created(id, Status::Dead, Hint::None));
    let view = world.view(id).await;
    assert_eq!((view.sub_state, view.error.as_str()), (None, text));
    assert_eq!(
        (view.task.error_class, view.task.error_code.as_str()),
        (Some(ErrorClass::Deterministic), "invalid_input")
    );
    assert_eq!(
        (view.task.finished_at, view.task.next_run_time),
        (view.task.create_time, view.task.create_time)
    );
    let first = &world.timeline(id).await[0];
    assert_eq!(
        (first.reason.as_str(), first.error_code.as_str()),
        ("invalid input", "invalid_input")
    );
    assert_eq!(world.claim(id).await, Claimed::Refused(Rejection::Illegal));
}

/// A ready hint is asked for only where the type's queue was empty.
pub async fn only_the_first_of_a_queue_asks_for_a_hint(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let other = NewTask {
        task_type: OTHER.into(),
        ..world.task()
    };
    let answers = world.admit_all(&[world.task(), world.task(), other]).await;
    let hints: Vec<_> = answers
        .iter()
        .map(|answer| match answer {
            Admitted::Created { hint, .. } => *hint,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(hints, [Hint::Ready, Hint::None, Hint::Ready]);
    world.dispatch(64).await;
    let next = world.task();
    let id = next.id;
    assert_eq!(world.admit(next).await, created(id, Status::Pending, Hint::Ready));
}

/// The short way: what asks for it counts as dispatched where nothing waits, and can be claimed at once.
pub async fn the_short_way_dispatches_where_nothing_waits(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let direct = || NewTask {
        direct: true,
        ..world.task()
    };
    let (first, second) = (direct(), direct());
    let ids = [first.id, second.id];
    let answers = world.admit_all(&[first, second]).await;
    assert_eq!(answers, ids.map(|id| created(id, Status::Pending, Hint::Work)));
    assert_eq!(
        world.status(ids[0]).await,
        (Status::Pending, Some(SubState::Dispatched))
    );
    assert!(matches!(world.claim(ids[0]).await, Claimed::Run { .. }));
    let waits = world
        .create(NewTask {
            task_type: OTHER.into(),
            ..world.task()
        })
        .await;
    let late = direct();
    let id = late.id;
    assert_eq!(world.admit(late).await, created(id, Status::Pending, Hint::Ready));
    assert_eq!(world.dispatch(64).await.len(), 2, "{waits} and {id} waited");
    let delayed = NewTask {
        delay_ms: 1_000,
        ..direct()
    };
    let id = delayed.id;
    assert_eq!(
        world.admit(delayed).await,
        created(id, Status::Pending, Hint::None)
    );
}

/// What is not started before its end is dead at the claim: `expired`.
pub async fn a_late_start_is_refused_as_expired(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let id = world
        .create(NewTask {
            expire_after_ms: 20_000,
            ..world.task()
        })
        .await;
    let in_time = world
        .create(NewTask {
            expire_after_ms: 90_000,
            ..world.task()
        })
        .await;
    world.pass(21_000).await;
    world.dispatch(64).await;
    assert_eq!(world.claim(id).await, Claimed::Expired);
    assert!(matches!(world.claim(in_time).await, Claimed::Run { .. }));
    let task = world.record(id).await;
    assert_eq!(
        (task.status, task.error_code.as_str(), task.attempt),
        (Status::Dead, "expired", 0)
    );
    assert_eq!(world.path(id).await, [Status::Pending, Status::Dead]);
}

/// A reason given with the call stands in the timeline; without one the platform's own does.
pub async fn a_given_reason_goes_before_our_own(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let new = NewTask {
        rejected: Some("no".into()),
        ..world.task()
    };
    let origin = Origin {
        reason: "row 3".into(),
        ..origin()
    };
    world
        .store
        .admit(
            world.partition,
            world.nonce(),
            &origin,
            std::slice::from_ref(&new),
        )
        .await
        .unwrap();
    assert_eq!(world.timeline(new.id).await[0].reason, "row 3");
}

/// Tasks of another partition, and more than one batch, fail the whole call.
pub async fn a_call_that_mixes_partitions_does_nothing(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let (good, mut other) = (world.task(), world.task());
    other.id = TaskId::new(5, [0; 10]);
    let tasks = [good.clone(), other.clone()];
    let answer = world
        .store
        .admit(world.partition, world.nonce(), &origin(), &tasks)
        .await;
    assert!(matches!(answer, Err(Error::Corrupt(_))), "{answer:?}");
    assert_eq!(world.store.get(good.id).await.unwrap(), None);
    let ids = [other.id];
    let answer = world
        .store
        .operate(
            world.partition,
            world.nonce(),
            &origin(),
            crate::Operation::Cancel,
            &ids,
        )
        .await;
    assert!(matches!(answer, Err(Error::Corrupt(_))), "{answer:?}");
}
