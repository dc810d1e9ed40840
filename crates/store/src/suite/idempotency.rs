//! The same key within its window is the same task (I1).

use domain::{Status, TaskId};

use super::Harness;
use super::new_task::{OTHER, TYPE};
use super::world::World;
use crate::{Admitted, NewTask};

const DAY_MS: i64 = 86_400_000;

/// The same submission, sent again by a caller that makes another id for it.
fn again(new: &NewTask, world: &World<'_>) -> NewTask {
    let made = world.id().made_at();
    NewTask {
        id: TaskId::keyed(made, [1; 10], &new.task_type, &new.idempotency_key),
        ..new.clone()
    }
}

/// The key with the same payload answers with the task and its status now.
pub async fn the_same_key_is_the_same_task(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let new = world.keyed(TYPE, "k", DAY_MS);
    let id = world.create(new.clone()).await;
    let second = again(&new, &world);
    assert_ne!(second.id, id);
    let answer = world.admit(second.clone()).await;
    assert_eq!(
        answer,
        Admitted::Existing {
            id,
            status: Status::Pending
        }
    );
    assert_eq!(world.store.get(second.id).await.unwrap(), None);
    let token = world.start(id).await;
    assert_eq!(
        world.admit(second.clone()).await,
        Admitted::Existing {
            id,
            status: Status::Running
        }
    );
    world.complete(id, token).await.unwrap();
    assert_eq!(
        world.admit(second).await,
        Admitted::Existing {
            id,
            status: Status::Success
        }
    );
    assert_eq!(world.record(id).await.version, 3);
}

/// The key with another payload is a conflict, not a second task.
pub async fn another_payload_is_a_conflict(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let new = world.keyed(TYPE, "k", DAY_MS);
    let id = world.create(new.clone()).await;
    let other = NewTask {
        payload_sha256: [8; 32],
        ..again(&new, &world)
    };
    assert_eq!(world.admit(other.clone()).await, Admitted::Conflict { id });
    assert_eq!(world.store.get(other.id).await.unwrap(), None);
}

/// The same id without a key is the same task too.
pub async fn the_same_id_is_the_same_task(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let new = world.task();
    let id = world.create(new.clone()).await;
    assert_eq!(
        world.admit(new).await,
        Admitted::Existing {
            id,
            status: Status::Pending
        }
    );
    assert_eq!(world.ready().await.0, 1);
}

/// Within one call a key counts once as well.
pub async fn a_key_counts_once_within_a_call(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let new = world.keyed(TYPE, "k", DAY_MS);
    let conflict = NewTask {
        payload_sha256: [8; 32],
        ..again(&new, &world)
    };
    let answers = world
        .admit_all(&[new.clone(), again(&new, &world), conflict])
        .await;
    let id = new.id;
    assert!(matches!(answers[0], Admitted::Created { .. }));
    assert_eq!(
        answers[1..],
        [
            Admitted::Existing {
                id,
                status: Status::Pending
            },
            Admitted::Conflict { id }
        ]
    );
    assert_eq!(world.ready().await.0, 1);
}

/// Keys belong to a type.
pub async fn another_type_has_keys_of_its_own(harness: &dyn Harness) {
    let world = World::new(harness).await;
    world.create(world.keyed(TYPE, "k", DAY_MS)).await;
    // Not the same text, as that need not fall into this partition; the same text under two types must not meet.
    let here = world.keyed(OTHER, "k", DAY_MS);
    world.create(here.clone()).await;
    let mut there = here;
    there.task_type = TYPE.into();
    there.id = world.id();
    world.create(there).await;
}

/// A key lives as long as its task, even past its window.
pub async fn a_key_lives_while_its_task_does(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let new = world.keyed(TYPE, "k", 1_000);
    let id = world.create(new.clone()).await;
    world.pass(60_000).await;
    let answer = world.admit(again(&new, &world)).await;
    assert_eq!(
        answer,
        Admitted::Existing {
            id,
            status: Status::Pending
        }
    );
}

/// A key outlives its removed task until its window ends, and knows the last status; then it is free.
pub async fn a_key_outlives_its_task_until_its_window_ends(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let new = world.keyed(TYPE, "k", 60_000);
    let (id, token) = world.running_as(new.clone()).await;
    world.complete(id, token).await.unwrap();
    world.record_outbox(1).await;
    world.pass(2_000).await;
    assert_eq!(world.retain_after(1_000).await.tasks, 1);
    assert_eq!(world.store.get(id).await.unwrap(), None);
    let second = again(&new, &world);
    assert_eq!(
        world.admit(second.clone()).await,
        Admitted::Existing {
            id,
            status: Status::Success
        }
    );
    let other = NewTask {
        payload_sha256: [8; 32],
        ..second.clone()
    };
    assert_eq!(world.admit(other).await, Admitted::Conflict { id });
    world.pass(60_000).await;
    world.create(second).await;
}

/// A key whose window ended is free once its task is removed.
pub async fn a_key_past_its_window_goes_with_its_task(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let new = world.keyed(TYPE, "k", 1_000);
    let (id, token) = world.running_as(new.clone()).await;
    world.complete(id, token).await.unwrap();
    world.record_outbox(1).await;
    world.pass(2_000).await;
    assert_eq!(world.retain_after(1_000).await.tasks, 1);
    world.create(again(&new, &world)).await;
}
