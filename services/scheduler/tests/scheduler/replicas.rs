//! Several schedulers on one store.

use gengfu_integration_tests::eventually;
use store::{Clock, TaskStore};

use crate::town::{Running, Town, hint, partition};

fn exports(running: &Running) -> bool {
    running.metrics.render().contains("gengfu_waiting_tasks{")
}

/// Waits until it shows so many waiting tasks, which it does only after a round that began later.
async fn shows(running: &Running, tasks: u8) {
    let line = format!(r#"gengfu_waiting_tasks{{type="a.b",state="pending"}} {tasks}"#);
    eventually!(running.metrics.render().contains(&line));
}

#[tokio::test]
async fn the_gauges_of_the_fleet_have_one_exporter_and_an_heir() {
    let mut town = Town::new(Clock::real()).await;
    let (one, other) = (town.start("n1"), town.start("n2"));
    town.admit(1, 3_600_000).await;
    eventually!(exports(&one) || exports(&other));
    let (first, heir) = if exports(&one) { (one, other) } else { (other, one) };
    for tasks in 2..6 {
        town.admit(tasks, 3_600_000).await;
        shows(&first, tasks).await;
        assert!(!exports(&heir), "two export the same numbers");
    }
    assert!(first.stop().await.is_clean());
    shows(&heir, 5).await;
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
