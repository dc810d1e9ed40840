//! What the audit reads.

use std::collections::BTreeMap;

use domain::{ErrorClass, Status};

use super::Harness;
use super::new_task::TYPE;
use super::world::World;
use crate::{AUDIT_PAGE, AuditedTask, NewTask, Place, Tally};

async fn all(world: &World<'_>) -> Vec<AuditedTask> {
    let (mut found, mut cursor) = (Vec::new(), Some(0));
    while let Some(at) = cursor {
        let page = world
            .store
            .audit_page(world.partition, at, &|_| true)
            .await
            .unwrap();
        assert!(page.tasks.len() <= AUDIT_PAGE);
        found.extend(page.tasks);
        cursor = page.next;
    }
    found
}

/// Every task is seen in the one place where it stands.
pub async fn a_task_is_seen_where_it_stands(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let delayed = NewTask {
        delay_ms: 3_600_000,
        ..world.task()
    };
    let delayed = world.create(delayed).await;
    let (done, token) = world.running().await;
    world.complete(done, token).await.unwrap();
    let (dead, token) = world.running().await;
    world
        .fail(dead, token, ErrorClass::Deterministic, 0)
        .await
        .unwrap();
    let (runs, _) = world.running().await;
    let dispatched = world.create(world.task()).await;
    world.dispatch(1).await;
    let waits = world.create(world.keyed(TYPE, "k", 1_000)).await;
    let seen: BTreeMap<_, _> = all(&world)
        .await
        .into_iter()
        .map(|one| (one.task.id, one))
        .collect();
    for (id, place) in [
        (delayed, Some(Place::Due)),
        (done, None),
        (dead, Some(Place::Dead)),
        (runs, Some(Place::Lease)),
        (dispatched, Some(Place::Dispatched)),
        (waits, Some(Place::Queue)),
    ] {
        let one = &seen[&id];
        assert_eq!(one.places.first().map(|(place, _)| *place), place, "{one:?}");
        assert!(one.places.len() <= 1);
        assert_eq!(one.task, world.record(id).await);
        assert_eq!(one.timeline, world.timeline(id).await);
        assert_eq!(one.payload, world.view(id).await.payload);
    }
    assert_eq!(seen[&waits].key_holder, Some(waits));
}

/// Tasks are left out by their id, and read by it.
pub async fn tasks_are_chosen_by_their_id(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let (done, token) = world.running().await;
    world.complete(done, token).await.unwrap();
    let (runs, _) = world.running().await;
    let few = world
        .store
        .audit_page(world.partition, 0, &|id| *id == runs)
        .await
        .unwrap();
    assert_eq!(
        few.tasks.iter().map(|one| one.task.id).collect::<Vec<_>>(),
        [runs]
    );
    let named = world
        .store
        .audit_tasks(world.partition, &[world.id(), done])
        .await
        .unwrap();
    assert_eq!(
        named.tasks.iter().map(|one| one.task.id).collect::<Vec<_>>(),
        [done]
    );
}

/// Pages go through all tasks, and the counters are what they count.
pub async fn pages_and_counters_agree(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let (done, token) = world.running().await;
    world.complete(done, token).await.unwrap();
    for part in 0..3 {
        let tasks: Vec<_> = (0..40 + part).map(|_| world.task()).collect();
        world.admit_all(&tasks).await;
    }
    assert_eq!(all(&world).await.len(), 124);
    let Tally { counters, tasks } = world.store.tally(world.partition).await.unwrap().unwrap();
    assert_eq!(counters, tasks);
    assert_eq!(tasks[&(TYPE.to_owned(), Status::Pending)], 123);
    assert_eq!(tasks[&(TYPE.to_owned(), Status::Success)], 1);
    for index in Place::INDICES {
        let (orphans, _) = world.store.orphans(world.partition, index, 0).await.unwrap();
        assert_eq!(orphans, [], "{index:?}");
    }
}

/// The outbox is read entry by entry, and nothing leaves it by that.
pub async fn the_outbox_is_read_in_order(harness: &dyn Harness) {
    let world = World::new(harness).await;
    for _ in 0..70 {
        world.create(world.task()).await;
    }
    let (mut after, mut versions) = (None::<String>, 0);
    loop {
        let page = world
            .store
            .outbox_after(world.partition, after.as_deref())
            .await
            .unwrap();
        let Some(last) = page.last() else { break };
        after = Some(last.id.clone());
        versions += page.iter().map(|entry| entry.events.len()).sum::<usize>();
    }
    assert_eq!(versions, 70);
    assert_eq!(world.events().await.len(), 70);
}
