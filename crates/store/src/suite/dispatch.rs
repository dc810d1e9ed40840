//! Out of the queue and back: a hint is a lease of 10 s.

use domain::{DISPATCH_LEASE_MS, Rejection, Status, SubState};

use super::Harness;
use super::new_task::TYPE;
use super::world::{World, twice};
use crate::Claimed;

/// What was dispatched is not dispatched again, and no transition tells of it.
pub async fn a_task_is_dispatched_once(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let id = world.create(world.task()).await;
    assert_eq!(world.dispatch(64).await, [id]);
    assert_eq!(world.dispatch(64).await, []);
    assert_eq!(
        world.status(id).await,
        (Status::Pending, Some(SubState::Dispatched))
    );
    assert_eq!(world.store.stats(world.partition).await.unwrap().dispatched, 1);
    assert_eq!(world.path(id).await, [Status::Pending]);
}

/// Never more than asked for; the reply names the types that still wait and how many tasks.
pub async fn a_dispatch_is_bounded_and_says_what_is_left(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let new: Vec<_> = (0..5).map(|_| world.task()).collect();
    world.admit_all(&new).await;
    let reply = world.dispatch_by(&World::ask(2)).await;
    assert_eq!((reply.tasks.len(), reply.left), (2, 3));
    assert_eq!(reply.types, [TYPE]);
    let reply = world.dispatch_by(&World::ask(64)).await;
    assert_eq!((reply.tasks.len(), reply.left, reply.types.len()), (3, 0, 0));
}

/// Who does not know which types wait learns it, and gets their tasks with the next call at the latest.
pub async fn a_dispatch_names_the_types_that_wait(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let id = world.create(world.task()).await;
    let mut ask = World::ask(64);
    ask.types.clear();
    let mut reply = world.dispatch_by(&ask).await;
    if reply.tasks.is_empty() {
        assert_eq!(reply.types, [TYPE]);
        ask.types = reply.types;
        reply = world.dispatch_by(&ask).await;
    }
    assert_eq!(reply.tasks[0].0, id);
}

/// A hint that nobody used for 10 s is void: the task is ready again, with its old place in line.
pub async fn an_old_hint_makes_the_task_ready_again(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let id = world.create(world.task()).await;
    world.dispatch(1).await;
    world.pass(DISPATCH_LEASE_MS - 3_000).await;
    assert_eq!(world.release().await.count, 0);
    let younger = world.create(world.task()).await;
    world.pass(3_000).await;
    assert_eq!(world.release().await.count, 1);
    assert_eq!(world.claim(id).await, Claimed::Refused(Rejection::Moved));
    assert_eq!(world.dispatch(64).await, [id, younger]);
}

/// Only what was dispatched can be claimed; what waits in the queue has moved.
pub async fn a_claim_needs_a_dispatch(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let id = world.create(world.task()).await;
    assert_eq!(world.claim(id).await, Claimed::Refused(Rejection::Moved));
    let delayed = world
        .create(crate::NewTask {
            delay_ms: 5_000,
            ..world.task()
        })
        .await;
    assert_eq!(world.claim(delayed).await, Claimed::Refused(Rejection::NotDue));
    world.pass(6_000).await;
    assert_eq!(world.claim(delayed).await, Claimed::Refused(Rejection::Moved));
}

/// What nobody can start goes back with its old place in line; what is not dispatched is left alone.
pub async fn undispatch_puts_back_in_line(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let id = world.create(world.task()).await;
    let (running, _) = world.running().await;
    world.pass(1_000).await;
    let younger = world.create(world.task()).await;
    let ids = [id, running, younger, world.id()];
    let released = twice!(world, undispatch(&ids));
    assert_eq!((released.count, released.more), (1, false));
    assert_eq!(world.status(id).await, (Status::Pending, Some(SubState::Ready)));
    assert_eq!(world.record(running).await.status, Status::Running);
    assert_eq!(world.path(id).await, [Status::Pending]);
    assert_eq!(world.dispatch(64).await, [id, younger]);
}

/// A task that is named twice in one call goes back once, and is counted once.
pub async fn an_id_that_is_named_twice_goes_back_once(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let id = world.create(world.task()).await;
    world.dispatch(1).await;
    assert_eq!(twice!(world, undispatch(&[id, id])).count, 1);
    assert_eq!(world.dispatch(64).await, [id]);
}

/// A claim keeps when the hint was sent, when the task was due and the tier of the hint.
pub async fn a_claim_keeps_its_times(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let id = world.create(world.task()).await;
    world.pass(2_000).await;
    let hint = world.dispatch_by(&World::ask(1)).await;
    world.pass(3_000).await;
    let reply = world.claim_all(&[id]).await;
    let Claimed::Run { task, payload } = reply.items[0].clone() else {
        panic!("{reply:?}");
    };
    assert_eq!(*task, world.record(id).await);
    assert_eq!(payload, world.view(id).await.payload);
    assert_eq!(
        (task.claimed_at, task.dispatched_at, task.ready_at),
        (reply.now, hint.now, task.create_time)
    );
    assert_eq!(
        (task.deadline, task.attempt),
        (reply.now + task.run_timeout_ms, 1)
    );
    assert_eq!(
        (task.executor_id.as_str(), task.effective_tier),
        ("executor-1", domain::Tier::High)
    );
}
