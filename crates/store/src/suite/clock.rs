//! The store's own clock decides, and never runs backward (I11).

use super::Harness;
use super::world::{World, origin};

/// A host whose clock is behind, as after a failover, does not turn the partition's clock back.
pub async fn the_clock_never_runs_backward(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let admit = async || {
        let tasks = [world.task()];
        let nonce = world.nonce();
        world
            .store
            .admit(world.partition, nonce, &origin(), &tasks)
            .await
            .unwrap()
            .now
    };
    let first = admit().await;
    world.outage(-60_000).await;
    let second = admit().await;
    assert!(second >= first, "{second} after {first}");
    world.outage(120_000).await;
    assert!(admit().await >= first + 60_000);
}

/// Time that passes is seen by `ping` and in every record.
pub async fn time_passes(harness: &dyn Harness) {
    let world = World::new(harness).await;
    let before = world.store.ping().await.unwrap();
    let first = world.create(world.task()).await;
    world.pass(60_000).await;
    let second = world.create(world.task()).await;
    assert!(world.store.ping().await.unwrap() >= before + 60_000);
    let apart = world.record(second).await.create_time - world.record(first).await.create_time;
    assert!((60_000..75_000).contains(&apart), "{apart} ms apart");
}
