//! Several schedulers on one store.

use gengfu_integration_tests::eventually;
use store::{Clock, TaskStore};

use crate::town::{Running, Town, hint, partition};

fn exports(running: &Running) -> bool {
    running.metrics.render().contains("gengfu_waiting_tasks{")
}

#[tokio::test]
async fn the_gauges_of_the_fleet_have_one_exporter_and_an_heir() {
    let mut town = Town::new(Clock::real()).await;
    town.admit(5, 3_600_000).await;
    let (one, other) = (town.start("n1"), town.start("n2"));
    eventually!(exports(&one) != exports(&other));
    let shown = if exports(&one) { &one } else { &other }.metrics.render();
    assert!(
        shown.contains(r#"gengfu_waiting_tasks{type="a.b",state="pending"} 1"#),
        "{shown}"
    );
    let (first, heir) = if exports(&one) { (one, other) } else { (other, one) };
    assert!(first.stop().await.is_clean());
    eventually!(exports(&heir));
    assert!(heir.stop().await.is_clean());
}

#[tokio::test]
async fn who_stands_by_releases_too() {
    let mut town = Town::standing().await;
    let mut hints = town.bus.ready_hints();
    let id = town.admit(5, 1_000).await;
    // Somebody has every turn, and does nothing with it.
    for number in 0..4 {
        assert!(
            town.store
                .hold(&format!("scheduler-{number}"), "hung", 3_600_000)
                .await
                .unwrap()
        );
    }
    let running = town.start("n1");
    town.store.clock().advance(1_001);
    assert_eq!(hint(&mut hints).await.partition, u32::from(partition(id)));
    assert!(running.stop().await.is_clean());
}
