//! Types take turns; inside a type, and by age, the oldest goes first.

use domain::{Millis, TaskId, Tier};

use super::Harness;
use super::new_task::{OTHER, TYPE};
use super::world::World;
use crate::NewTask;

async fn fill(world: &World<'_>, task_type: &str, count: usize) -> Vec<TaskId> {
    let new: Vec<_> = (0..count)
        .map(|_| NewTask {
            task_type: task_type.into(),
            ..world.task()
        })
        .collect();
    world.admit_all(&new).await;
    new.iter().map(|task| task.id).collect()
}

async fn types(world: &World<'_>, limit: usize) -> Vec<(String, usize)> {
    let reply = world.dispatch_by(&World::ask(limit)).await;
    let mut runs: Vec<(String, usize)> = Vec::new();
    for (_, name, _) in reply.tasks {
        match runs.last_mut() {
            Some((last, count)) if *last == name => *count += 1,
            _ => runs.push((name, 1)),
        }
    }
    runs
}

/// Two types that both wait get turns of 16; the one that came first has no advantage.
pub async fn types_take_turns(harness: &dyn Harness) {
    let world = World::new(harness).await;
    fill(&world, OTHER, 60).await;
    fill(&world, TYPE, 20).await;
    let turn = |name: &str, count| (name.to_owned(), count);
    assert_eq!(
        types(&world, 40).await,
        [turn(TYPE, 16), turn(OTHER, 16), turn(TYPE, 4), turn(OTHER, 4)]
    );
    assert_eq!(types(&world, 64).await, [turn(OTHER, 40)]);
}

/// A type that comes late starts beside the one whose turn it is: it neither waits for the old one nor makes up for the
/// time of its absence.
pub async fn a_late_type_neither_waits_nor_catches_up(harness: &dyn Harness) {
    let world = World::new(harness).await;
    fill(&world, TYPE, 64).await;
    fill(&world, TYPE, 20).await;
    assert_eq!(types(&world, 32).await, [(TYPE.to_owned(), 32)]);
    fill(&world, OTHER, 60).await;
    let turn = |name: &str, count| (name.to_owned(), count);
    assert_eq!(types(&world, 16).await, [turn(TYPE, 16)]);
    assert_eq!(types(&world, 16).await, [turn(OTHER, 16)]);
    assert_eq!(types(&world, 32).await, [turn(TYPE, 16), turn(OTHER, 16)]);
}

/// Inside a type the earliest due goes first, then the lowest id.
pub async fn inside_a_type_the_oldest_goes_first(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let late = world
        .create(NewTask {
            delay_ms: 9_000,
            ..world.task()
        })
        .await;
    let early = world
        .create(NewTask {
            delay_ms: 3_000,
            ..world.task()
        })
        .await;
    world.pass(10_000).await;
    let now = fill(&world, TYPE, 3).await;
    world.release().await;
    assert_eq!(world.dispatch(64).await, [early, late, now[0], now[1], now[2]]);
}

/// By age alone, turns do not count, and the reply says when each was due.
pub async fn by_age_the_oldest_of_all_types_goes_first(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let mut expected = Vec::new();
    for name in [OTHER, TYPE, TYPE, OTHER] {
        expected.extend(fill(&world, name, 1).await);
        world.pass(1_000).await;
    }
    let mut ask = World::ask(3);
    ask.oldest = true;
    let reply = world.dispatch_by(&ask).await;
    let ids: Vec<_> = reply.tasks.iter().map(|(id, ..)| *id).collect();
    assert_eq!(ids, expected[..3]);
    let due: Vec<Millis> = reply.tasks.iter().map(|(.., due)| *due).collect();
    assert!(due.is_sorted());
    assert_eq!(due[0], world.record(ids[0]).await.create_time);
    assert_eq!(reply.left, 1);
}

/// The queue of a tier holds its own tasks alone.
pub async fn tiers_have_queues_of_their_own(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let low = world
        .create(NewTask {
            tier: Tier::Low,
            ..world.task()
        })
        .await;
    let normal = world.create(world.task()).await;
    assert_eq!(world.dispatch(64).await, [normal]);
    let mut ask = World::ask(64);
    ask.tier = Tier::Low;
    assert_eq!(world.dispatch_by(&ask).await.tasks[0].0, low);
    let mut ask = World::ask(64);
    ask.pool = "elsewhere".into();
    assert_eq!(world.dispatch_by(&ask).await.tasks, []);
}
