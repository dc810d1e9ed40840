//! What follows a batch: exactly once, when as many rows as were said have ended; and when its counts leave.

use domain::{Status, TaskId};

use super::Harness;
use super::world::{World, origin};
use crate::{BATCH_KEEP_MS, BATCH_MAX, EndedBatches, Error, NewTask, Operation, Seal, Sealed};

fn seal(total: u64) -> Seal {
    Seal {
        total,
        then: Some("report".into()),
        parent_id: Some(TaskId::new(7, [7; 10])),
    }
}

/// Seals a batch that is at home in the partition under test.
async fn say(world: &World<'_>, batch: TaskId, seal: &Seal) -> Sealed {
    let nonce = world.nonce();
    let first = world.store.seal(nonce, &origin(), batch, seal).await.unwrap();
    let again = world.store.seal(nonce, &origin(), batch, seal).await.unwrap();
    assert_eq!(first, again, "seal played twice");
    first
}

async fn follow(world: &World<'_>, batch: TaskId, task: TaskId) -> Option<TaskId> {
    let nonce = world.nonce();
    let first = world.store.follow(nonce, batch, task).await.unwrap();
    let again = world.store.follow(nonce, batch, task).await.unwrap();
    assert_eq!(first, again, "follow played twice");
    first
}

async fn ended(world: &World<'_>) -> Vec<TaskId> {
    let EndedBatches { ended, next } = world.store.ended_batches(world.partition, None).await.unwrap();
    assert_eq!(next, None);
    ended.into_iter().map(|ended| ended.batch).collect()
}

fn row(world: &World<'_>, batch: TaskId) -> NewTask {
    NewTask {
        batch_id: Some(batch),
        ..world.task()
    }
}

fn dead(world: &World<'_>, batch: TaskId) -> NewTask {
    NewTask {
        rejected: Some("no".into()),
        ..row(world, batch)
    }
}

/// What was said first stands, whoever says something else later; nobody knows a batch of which nothing was said.
pub async fn the_first_word_on_a_batch_stands(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let batch = world.id();
    assert_eq!(world.store.sealed(batch).await.unwrap(), None);
    let first = say(&world, batch, &seal(3)).await;
    let expected = Sealed {
        seal: seal(3),
        actor: "suite".into(),
        followed_by: None,
    };
    assert_eq!(first, expected);
    let other = Seal {
        total: 4,
        then: None,
        parent_id: None,
    };
    assert_eq!(say(&world, batch, &other).await, expected);
    assert_eq!(world.store.sealed(batch).await.unwrap(), Some(expected));
}

/// Rows are counted over all partitions, before and after the seal; only as many as were said end a batch.
pub async fn a_batch_ends_when_as_many_rows_as_were_said_have_ended(harness: &dyn Harness) {
    let mut world = World::new(harness).await;
    let batch = world.id();
    let (id, token) = world.running_as(row(&world, batch)).await;
    world.complete(id, token).await.unwrap();
    say(&world, batch, &seal(3)).await;
    assert_eq!(ended(&world).await, [], "one of three");
    world.partition = 0;
    let waits = world.create(row(&world, batch)).await;
    world.create(dead(&world, batch)).await;
    world.partition = 1;
    assert_eq!(ended(&world).await, [], "one of them waits");
    world.partition = 0;
    world.operate(waits, Operation::Cancel).await.unwrap();
    assert_eq!(ended(&world).await, [], "it is at home elsewhere");
    world.partition = 1;
    let found = world.store.ended_batches(1, None).await.unwrap().ended.remove(0);
    assert_eq!((found.batch, found.sealed.seal), (batch, seal(3)));
    let count = |status: Status| found.counts.by_status.get(status.as_str()).copied().unwrap_or(0);
    assert_eq!(
        (
            count(Status::Success),
            count(Status::Dead),
            count(Status::Cancelled)
        ),
        (1, 1, 1)
    );
}

/// Once a task followed, the batch is not told any more; the first task stands.
pub async fn the_first_task_that_follows_stands(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let (batch, task, other) = (world.id(), world.id(), world.id());
    assert_eq!(follow(&world, batch, task).await, None, "it was never sealed");
    say(&world, batch, &seal(1)).await;
    world.create(dead(&world, batch)).await;
    assert_eq!(ended(&world).await, [batch]);
    assert_eq!(follow(&world, batch, task).await, Some(task));
    assert_eq!(follow(&world, batch, other).await, Some(task));
    assert_eq!(ended(&world).await, []);
    assert_eq!(
        world.store.sealed(batch).await.unwrap().unwrap().followed_by,
        Some(task)
    );
    assert_eq!(say(&world, batch, &seal(1)).await.followed_by, Some(task));
}

/// A seal may say only how many rows there are.
pub async fn a_batch_that_nothing_follows_is_never_told(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let batch = world.id();
    let only_total = Seal {
        total: 1,
        ..Seal::default()
    };
    assert_eq!(say(&world, batch, &only_total).await.seal, only_total);
    world.create(dead(&world, batch)).await;
    assert_eq!(ended(&world).await, []);
}

/// Of no rows all have ended.
pub async fn a_batch_without_rows_ends_at_once(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let batch = world.id();
    say(&world, batch, &seal(0)).await;
    assert_eq!(ended(&world).await, [batch]);
    assert_eq!(world.store.batch(batch).await.unwrap(), None);
}

/// However many batches something is to follow: a bounded part is looked at in a call, and all in the end.
pub async fn many_sealed_batches_are_gone_through_in_parts(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let batches: Vec<_> = (0..2 * BATCH_MAX + 3).map(|_| world.id()).collect();
    for (at, batch) in batches.iter().enumerate() {
        // Every third still waits for a row.
        say(&world, *batch, &seal(u64::from(at % 3 == 0))).await;
    }
    let (mut found, mut after, mut calls) = (Vec::new(), None, 0);
    loop {
        let page = world.store.ended_batches(world.partition, after).await.unwrap();
        found.extend(page.ended.into_iter().map(|ended| ended.batch));
        after = page.next;
        calls += 1;
        if after.is_none() {
            break;
        }
    }
    let expected = batches.iter().enumerate().filter(|(at, _)| at % 3 != 0);
    assert_eq!(found, expected.map(|(_, batch)| *batch).collect::<Vec<_>>());
    assert_eq!(calls, 3);
}

/// A type that can't be one is refused: nothing could ever follow.
pub async fn what_is_no_type_can_not_follow(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let bad = Seal {
        then: Some("No Type".into()),
        ..Seal::default()
    };
    let answer = world.store.seal(world.nonce(), &origin(), world.id(), &bad).await;
    assert!(matches!(answer, Err(Error::Corrupt(_))), "{answer:?}");
}

async fn total(world: &World<'_>, batch: TaskId) -> Option<u64> {
    world.store.batch(batch).await.unwrap().map(|counts| counts.total)
}

/// Lets days pass at once: nobody has a lease that could end.
async fn days(world: &World<'_>, days: i64) {
    world.outage(days * BATCH_KEEP_MS).await;
    world.beat(&[]).await;
}

/// A batch is forgotten a day after its last task left, and not before: the counts of one partition alone would say
/// too little.
pub async fn counts_leave_some_time_after_the_last_task(harness: &dyn Harness) {
    let mut world = World::new(harness).await;
    let batch = world.id();
    world.create(dead(&world, batch)).await;
    world.record_outbox(1).await;
    world.partition = 0;
    let waits = world.create(row(&world, batch)).await;
    world.partition = 1;
    world.pass(2_000).await;
    assert_eq!(world.retain_after(1_000).await.tasks, 1);
    days(&world, 2).await;
    world.retain_after(1_000).await;
    assert_eq!(total(&world, batch).await, Some(2), "one waits elsewhere");
    world.partition = 0;
    world.operate(waits, Operation::Cancel).await.unwrap();
    world.record_outbox(1).await;
    world.pass(2_000).await;
    assert_eq!(world.retain_after(1_000).await.tasks, 1);
    assert_eq!(total(&world, batch).await, Some(2), "they have only just left");
    days(&world, 1).await;
    for partition in [0, 1] {
        world.partition = partition;
        world.beat(&[]).await;
        world.retain_after(1_000).await;
    }
    assert_eq!(total(&world, batch).await, None);
}

/// As long as something is to follow, the counts that decide it stay; later the seal leaves with them.
pub async fn counts_stay_while_something_is_to_follow(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let batch = world.id();
    world.create(dead(&world, batch)).await;
    say(&world, batch, &seal(2)).await;
    world.record_outbox(1).await;
    days(&world, 1).await;
    assert_eq!(world.retain_after(1_000).await.tasks, 1);
    for _ in 0..2 {
        days(&world, 1).await;
        world.retain_after(1_000).await;
    }
    assert_eq!(total(&world, batch).await, Some(1));
    world.create(dead(&world, batch)).await;
    assert_eq!(ended(&world).await, [batch]);
    follow(&world, batch, world.id()).await;
    world.record_outbox(2).await;
    for _ in 0..3 {
        days(&world, 1).await;
        world.retain_after(1_000).await;
    }
    assert_eq!(total(&world, batch).await, None);
    assert_eq!(world.store.sealed(batch).await.unwrap(), None);
}
