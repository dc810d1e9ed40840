//! Running implies a lease; one that ended is reclaimed, one that was renewed never (I4).

use domain::{ErrorClass, Status};

use super::Harness;
use super::world::{LEASE_MS, World, origin};
use crate::{Heartbeat, NewTask};

const DAY_MS: i64 = 86_400_000;

/// A lease that nobody renewed is taken back: the task is due at once and spends no retry.
pub async fn an_expired_lease_is_reclaimed(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let (id, _) = world.running().await;
    world.pass(LEASE_MS - 5_000).await;
    assert_eq!(world.reclaim().await, []);
    world.pass(6_000).await;
    assert_eq!(world.reclaim().await, [(id, (Status::Pending, 4))]);
    let task = world.record(id).await;
    assert_eq!((task.retry_count, task.losses, task.attempt), (0, 1, 1));
    assert_eq!(
        (task.error_class, task.error_code.as_str()),
        (Some(ErrorClass::Lost), "lease_expired")
    );
    assert_eq!(task.next_run_time, task.update_time);
    assert_eq!(
        world.path(id).await,
        [Status::Pending, Status::Running, Status::Timeout, Status::Pending]
    );
    assert_eq!(world.reclaim().await, []);
    world.start(id).await;
}

/// A lease that is renewed is never reclaimed, however long the run.
pub async fn a_renewed_lease_is_not_reclaimed(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let (id, token) = world.running().await;
    for _ in 0..6 {
        world.pass(LEASE_MS / 2).await;
        assert_eq!(world.beat(&[(id, token)]).await, [Heartbeat::Renewed]);
        assert_eq!(world.reclaim().await, []);
    }
    let task = world.record(id).await;
    assert_eq!((task.version, task.status), (2, Status::Running));
    world.complete(id, token).await.unwrap();
}

/// A heartbeat renews a lease past its end, as long as nobody reclaimed it.
pub async fn a_lease_is_renewed_past_its_end(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let (id, token) = world.running().await;
    world.pass(LEASE_MS + 2_000).await;
    assert_eq!(world.beat(&[(id, token)]).await, [Heartbeat::Renewed]);
    assert_eq!(world.reclaim().await, []);
    world.pass(LEASE_MS - 5_000).await;
    assert_eq!(world.reclaim().await, []);
    world.complete(id, token).await.unwrap();
}

/// A run may end past its lease's end, as long as nobody reclaimed it.
pub async fn a_run_may_end_past_its_lease(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let (id, token) = world.running().await;
    world.pass(LEASE_MS + 2_000).await;
    assert_eq!(world.complete(id, token).await, Ok((Status::Success, 3)));
    assert_eq!(world.reclaim().await, []);
}

/// After an outage nothing is reclaimed for one lease, so that living executors can renew first; whoever calls first.
pub async fn after_an_outage_heartbeats_come_first(harness: &dyn Harness) {
    for first_call in ["reclaim", "release_due", "admit", "heartbeat"] {
        let world = World::new(harness).await;
        let (alive, token) = world.running().await;
        let (lost, _) = world.running().await;
        world.outage(3 * LEASE_MS).await;
        match first_call {
            "release_due" => drop(world.release().await),
            "admit" => drop(world.create(world.task()).await),
            "heartbeat" => drop(world.beat(&[]).await),
            _ => {}
        }
        assert_eq!(world.reclaim().await, [], "{first_call} came first");
        world.pass(LEASE_MS / 2).await;
        assert_eq!(world.reclaim().await, [], "{first_call} came first");
        assert_eq!(world.beat(&[(alive, token)]).await, [Heartbeat::Renewed]);
        world.pass(LEASE_MS / 2 + 1_000).await;
        assert_eq!(
            world.reclaim().await,
            [(lost, (Status::Pending, 4))],
            "{first_call} came first"
        );
    }
}

/// A pause shorter than half a lease is no outage.
pub async fn a_short_silence_is_no_outage(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let (id, _) = world.running().await;
    world.pass(LEASE_MS - 2_000).await;
    world.outage(LEASE_MS / 4).await;
    assert_eq!(world.reclaim().await, [(id, (Status::Pending, 4))]);
}

/// A task under which too many executors vanish is poison.
pub async fn too_many_losses_are_poison(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let (id, _) = world
        .running_as(NewTask {
            max_lost: 2,
            ..world.task()
        })
        .await;
    world.pass(LEASE_MS + 1_000).await;
    assert_eq!(world.reclaim().await, [(id, (Status::Pending, 4))]);
    world.start(id).await;
    world.pass(LEASE_MS + 1_000).await;
    assert_eq!(world.reclaim().await, [(id, (Status::Dead, 7))]);
    let task = world.record(id).await;
    assert_eq!((task.error_code.as_str(), task.losses), ("poison", 2));
    let last = world.timeline(id).await.pop().unwrap();
    assert_eq!(
        (last.reason.as_str(), last.error_code.as_str()),
        ("poison", "poison")
    );
}

/// A loss is forgotten after a day.
pub async fn losses_are_forgotten_after_a_day(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let (id, _) = world
        .running_as(NewTask {
            max_lost: 2,
            ..world.task()
        })
        .await;
    world.pass(LEASE_MS + 1_000).await;
    world.reclaim().await;
    world.outage(DAY_MS + 1_000).await;
    world.start(id).await;
    world.pass(LEASE_MS + 1_000).await;
    assert_eq!(world.reclaim().await, [(id, (Status::Pending, 7))]);
    assert_eq!(world.record(id).await.losses, 1);
}

/// At most a batch a call.
pub async fn a_reclaim_is_bounded(harness: &dyn Harness) {
    let world = World::new(harness).await;
    for count in [64, 3] {
        let new: Vec<_> = (0..count).map(|_| world.task()).collect();
        world.admit_all(&new).await;
        let ids = world.dispatch(64).await;
        assert_eq!(world.claim_all(&ids).await.items.len(), count);
    }
    world.pass(LEASE_MS + 1_000).await;
    assert_eq!(world.reclaim().await.len(), 64);
    assert_eq!(world.reclaim().await.len(), 3);
    assert_eq!(world.store.stats(world.partition).await.unwrap().running, 0);
}

/// A repeat of a reclaim answers as the first did, though its tasks run again.
pub async fn a_repeated_reclaim_takes_nothing(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let (id, _) = world.running().await;
    world.pass(LEASE_MS + 1_000).await;
    let nonce = world.nonce();
    let first = world
        .store
        .reclaim(world.partition, nonce, &origin(), LEASE_MS)
        .await
        .unwrap();
    assert_eq!(first.items, [(id, Ok((Status::Pending, 4)))]);
    let token = world.start(id).await;
    world.pass(LEASE_MS + 1_000).await;
    let again = world
        .store
        .reclaim(world.partition, nonce, &origin(), LEASE_MS)
        .await
        .unwrap();
    assert_eq!(again, first);
    assert_eq!(world.record(id).await.lease_token, Some(token));
}

/// A duty has one owner at a time, who may renew it; it is free when it was not renewed.
pub async fn a_duty_has_one_owner(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let hold = async |owner: &str, ms| world.store.hold("record.1", owner, ms).await.unwrap();
    assert!(hold("a", 60_000).await);
    assert!(!hold("b", 60_000).await);
    assert!(world.store.hold("record.2", "b", 60_000).await.unwrap());
    assert!(hold("a", 50).await, "the owner renews");
    let started = std::time::Instant::now();
    while !hold("b", 60_000).await {
        world.outage(10).await; // a store with a clock of its own goes on by itself
        assert!(started.elapsed().as_secs() < 10, "a duty of 50 ms never ended");
    }
    assert!(!hold("a", 60_000).await);
}
