//! NATS goes and comes; the scheduler stays.

use gengfu_integration_tests::eventually;
use store::TaskStore;

use crate::town::{Town, hint, partition};

#[tokio::test]
async fn without_nats_it_is_not_ready_goes_on_and_catches_up() {
    let mut town = Town::standing().await;
    let running = town.start("n1");
    eventually!(running.health.is_ready());
    town.nats.kill();
    eventually!(
        running
            .health
            .not_ready()
            .iter()
            .any(|waits| waits.name == "nats")
    );

    let id = town.admit(5, 1_000).await;
    town.store.clock().advance(6_000);
    // The store's side goes on meanwhile.
    eventually!(
        town.store
            .stats(partition(id))
            .await
            .is_ok_and(|stats| stats.delayed == 0)
    );
    assert_eq!(town.store.stats(partition(id)).await.unwrap().outbox, 1);

    town.nats.start().unwrap();
    eventually!(running.health.is_ready());
    let mut hints = town.bus.ready_hints();
    assert_eq!(hint(&mut hints).await.task_type, "a.b");
    eventually!(
        town.store
            .stats(partition(id))
            .await
            .is_ok_and(|stats| stats.outbox == 0)
    );
    assert!(running.stop().await.is_clean());
}
