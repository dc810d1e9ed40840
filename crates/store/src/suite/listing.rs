//! Lists of tasks: filters, order and cursors.

use domain::{ErrorClass, Status, TaskId, Tier};

use super::Harness;
use super::new_task::{OTHER, TYPE};
use super::world::World;
use crate::{NewTask, Page, TaskFilter};

/// A failed task of a schedule and a batch; later one of another tier; later one of another type, in the batch.
async fn three(world: &World<'_>, batch: TaskId) -> [TaskId; 3] {
    let first = NewTask {
        schedule_id: "nightly".into(),
        batch_id: Some(batch),
        ..world.task()
    };
    let (dead, token) = world.running_as(first).await;
    world
        .fail(dead, token, ErrorClass::Deterministic, 0)
        .await
        .unwrap();
    world.pass(5_000).await;
    let low = world
        .create(NewTask {
            tier: Tier::Low,
            ..world.task()
        })
        .await;
    world.pass(5_000).await;
    let other = NewTask {
        task_type: OTHER.into(),
        batch_id: Some(batch),
        ..world.task()
    };
    [dead, low, world.create(other).await]
}

async fn expect(world: &World<'_>, set: impl FnOnce(&mut TaskFilter), expected: &[TaskId]) {
    let mut filter = TaskFilter::default();
    set(&mut filter);
    assert_eq!(world.listed(&filter).await, expected, "{filter:?}");
}

/// Each filter alone picks its tasks.
pub async fn each_filter_picks_its_tasks(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let batch = TaskId::new(3, [9; 10]);
    let [dead, low, other] = three(&world, batch).await;
    let middle = world.record(low).await.create_time;
    expect(&world, |_| {}, &[other, low, dead]).await;
    expect(
        &world,
        |filter| filter.task_type = Some(TYPE.into()),
        &[low, dead],
    )
    .await;
    expect(&world, |filter| filter.status = Some(Status::Dead), &[dead]).await;
    expect(
        &world,
        |filter| filter.status = Some(Status::Pending),
        &[other, low],
    )
    .await;
    expect(&world, |filter| filter.tier = Some(Tier::Low), &[low]).await;
    expect(&world, |filter| filter.batch = Some(batch), &[other, dead]).await;
    expect(&world, |filter| filter.batch = Some(TaskId::new(4, [1; 10])), &[]).await;
    expect(&world, |filter| filter.schedule = Some("nightly".into()), &[dead]).await;
    expect(
        &world,
        |filter| filter.error_code = Some("refused".into()),
        &[dead],
    )
    .await;
    expect(&world, |filter| filter.since = Some(middle), &[other, low]).await;
    expect(&world, |filter| filter.until = Some(middle), &[dead]).await;
}

/// Filters together pick what passes all of them.
pub async fn filters_together_pick_what_passes_all(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let batch = TaskId::new(3, [9; 10]);
    let [dead, _, other] = three(&world, batch).await;
    let of_batch = |status| {
        move |filter: &mut TaskFilter| {
            filter.batch = Some(batch);
            filter.status = Some(status);
        }
    };
    expect(&world, of_batch(Status::Pending), &[other]).await;
    expect(&world, of_batch(Status::Dead), &[dead]).await;
    expect(&world, of_batch(Status::Success), &[]).await;
}

/// A list shows what `get` shows.
pub async fn a_list_shows_whole_tasks(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let (id, token) = world.running().await;
    world.complete(id, token).await.unwrap();
    let delayed = world
        .create(NewTask {
            delay_ms: 60_000,
            ..world.task()
        })
        .await;
    let page = Page {
        limit: 10,
        cursor: None,
    };
    let listed = world.store.list(&TaskFilter::default(), &page).await.unwrap();
    assert_eq!(listed.items, [world.view(delayed).await, world.view(id).await]);
}

/// Pages follow each other without a gap or a repeat, newest first, also while tasks come in.
pub async fn pages_have_no_gap_and_no_repeat(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let mut ids = Vec::new();
    for _ in 0..25 {
        ids.push(world.create(world.task()).await);
    }
    let mut seen = Vec::new();
    let mut page = Page {
        limit: 4,
        cursor: None,
    };
    loop {
        let listed = world.store.list(&TaskFilter::default(), &page).await.unwrap();
        assert!(listed.items.len() <= 4);
        seen.extend(listed.items.iter().map(|view| view.task.id));
        world.create(world.task()).await;
        let Some(next) = listed.next else { break };
        page.cursor = Some(next);
        assert!(seen.len() <= 25);
    }
    ids.reverse();
    assert_eq!(seen, ids);
}

/// Tasks of every partition are in one list, newest first.
pub async fn a_list_goes_over_the_partitions(harness: &dyn Harness) {
    let mut world = World::new(harness).await;
    let mut ids = Vec::new();
    for turn in 0..12 {
        world.partition = turn % 2;
        ids.push(world.create(world.task()).await);
        world.pass(1_000).await;
    }
    ids.reverse();
    assert_eq!(world.listed(&TaskFilter::default()).await, ids);
    for id in ids {
        assert_eq!(world.view(id).await.task.id, id);
    }
}

/// A cursor that no list gave is an error, not an empty page.
pub async fn a_made_up_cursor_is_refused(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let page = Page {
        limit: 4,
        cursor: Some("made up".into()),
    };
    assert!(world.store.list(&TaskFilter::default(), &page).await.is_err());
}
