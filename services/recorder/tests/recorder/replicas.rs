//! Several recorders on one store.

use gengfu_integration_tests::eventually;
use store::TaskStore;

use crate::town::{PARTITIONS, Running, Town};

/// How many partitions a recorder of this name holds. Renewing somebody's lease harms nobody.
async fn held(town: &Town, node: &str) -> usize {
    let mut held = 0;
    for partition in 0..PARTITIONS {
        let duty = format!("recorder-{partition}");
        // Taken only where it is free, and then for no time.
        let free = town.store.hold(&duty, "nobody", 0).await.unwrap();
        held += usize::from(!free && town.store.hold(&duty, node, 2_000).await.unwrap());
    }
    held
}

async fn stop(running: Running) {
    assert!(running.stop().await.is_clean());
}

#[tokio::test]
async fn replicas_share_and_an_heir_goes_on() {
    let mut town = Town::new().await;
    let one = town.start("n1");
    eventually!(held(&town, "n1").await == 4);
    let other = town.start("n2");
    eventually!(held(&town, "n1").await == 2 && held(&town, "n2").await == 2);
    for number in 1..=4 {
        town.live_announced(number).await;
    }
    eventually!(town.has_counted(4).await);
    stop(one).await;
    eventually!(held(&town, "n2").await == 4);
    for number in 5..=8 {
        town.live_announced(number).await;
    }
    eventually!(town.has_counted(8).await);
    stop(other).await;
}
