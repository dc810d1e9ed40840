//! A paused type does not start; its tasks wait.

use domain::{Rejection, Status, SubState};

use super::Harness;
use super::new_task::{OTHER, TYPE};
use super::world::World;
use crate::{Admitted, Claimed, Hint, NewTask};

/// A paused type is left out by turns and by age, and others go on.
pub async fn a_paused_type_is_not_dispatched(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let held = world.create(world.task()).await;
    world.put_type(TYPE, true).await;
    let late = world.create(world.task()).await;
    let other = world
        .create(NewTask {
            task_type: OTHER.into(),
            ..world.task()
        })
        .await;
    assert_eq!(world.dispatch(64).await, [other]);
    let mut ask = World::ask(64);
    ask.oldest = true;
    assert_eq!(world.dispatch_by(&ask).await.tasks, []);
    assert_eq!(world.status(held).await, (Status::Pending, Some(SubState::Ready)));
    world.put_type(TYPE, false).await;
    assert_eq!(world.dispatch(64).await, [held, late]);
}

/// A pause between dispatch and claim refuses the claim, and the task can be claimed after it ends.
pub async fn a_paused_type_is_not_claimed(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let id = world.create(world.task()).await;
    world.dispatch(1).await;
    world.put_type(TYPE, true).await;
    assert_eq!(world.claim(id).await, Claimed::Refused(Rejection::Paused));
    assert_eq!(world.record(id).await.version, 1);
    world.put_type(TYPE, false).await;
    assert!(matches!(world.claim(id).await, Claimed::Run { .. }));
}

/// What runs goes on, is failed and retried; the retry waits for the end of the pause.
pub async fn a_pause_lets_runs_end(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let (id, token) = world.running().await;
    world.put_type(TYPE, true).await;
    world
        .fail(id, token, domain::ErrorClass::Transient, 1_000)
        .await
        .unwrap();
    world.pass(2_000).await;
    world.release().await;
    assert_eq!(world.dispatch(64).await, []);
    world.put_type(TYPE, false).await;
    assert_eq!(world.dispatch(64).await, [id]);
}

/// A paused type does not take the short way, and its waiting tasks do not bar it to others.
pub async fn a_paused_type_takes_no_short_way(harness: &dyn Harness) {
    let world = World::new(harness).await;
    world.put_type(TYPE, true).await;
    let held = world
        .admit(NewTask {
            direct: true,
            ..world.task()
        })
        .await;
    assert!(
        matches!(
            held,
            Admitted::Created {
                hint: Hint::Ready,
                ..
            }
        ),
        "{held:?}"
    );
    let other = NewTask {
        direct: true,
        task_type: OTHER.into(),
        ..world.task()
    };
    let other = world.admit(other).await;
    assert!(
        matches!(other, Admitted::Created { hint: Hint::Work, .. }),
        "{other:?}"
    );
}

/// Types are kept as they were put, by name, under a version that grows.
pub async fn types_are_kept_under_a_version(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let before = world.store.types_version().await.unwrap();
    let first = world.put_type(TYPE, false).await;
    let second = world
        .store
        .put_types(&[super::world::spec(OTHER, true), super::world::spec("c.d", false)])
        .await
        .unwrap();
    assert!(before < first && first < second);
    let (version, types) = world.store.types().await.unwrap();
    assert_eq!(
        (version, world.store.types_version().await.unwrap()),
        (second, second)
    );
    let names: Vec<_> = types
        .iter()
        .map(|spec| (spec.name.as_str(), spec.paused))
        .collect();
    assert_eq!(names, [(TYPE, false), (OTHER, true), ("c.d", false)]);
    world.put_type(OTHER, false).await;
    let (_, types) = world.store.types().await.unwrap();
    assert_eq!(types[1], super::world::spec(OTHER, false));
}
