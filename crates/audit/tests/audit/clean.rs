//! Where all is well nothing is found, also of what is on its way or has left.

use domain::Status;
use store::{Operation, Retention};

use crate::town::{PARTITION, Town};

#[tokio::test]
async fn a_town_with_tasks_in_every_status_is_clean() {
    let town = Town::new().await;
    town.tasks().await;
    let report = town.audit().await;
    assert!(report.is_clean(), "{report:#?}");
    for (what, count) in [("tasks", 8), ("idempotency keys", 8), ("events repeated", 0)] {
        assert_eq!(
            report.looked_at.get(what).copied().unwrap_or(0),
            count,
            "{what}: {report:#?}"
        );
    }
    assert_eq!(report.looked_at["events"], report.looked_at["transitions"]);
    assert!(
        report.in_flight.is_empty() && report.trimmed.is_empty(),
        "{report:#?}"
    );
}

#[tokio::test]
async fn what_waits_in_the_outbox_is_on_its_way() {
    let town = Town::new().await;
    let tasks = town.tasks().await;
    // Nobody announces it.
    assert!(town.operate(tasks.ready, Operation::Cancel).await.is_some());
    let report = town.audit().await;
    assert!(report.is_clean(), "{report:#?}");
    assert_eq!(report.in_flight["transitions in the outbox"], 1);
}

#[tokio::test]
async fn what_retention_took_is_no_loss() {
    let town = Town::new().await;
    town.tasks().await;
    let entries = town.store.get(town.done().await).await.unwrap().unwrap();
    assert_eq!(entries.task.status, Status::Success);
    town.settle().await;
    // The recorder counts all of it, and then it may go.
    let (events, _) = town.store.unrecorded(PARTITION, 0).await.unwrap();
    town.store.record(PARTITION, 1, 1, &events).await.unwrap();
    let retention = Retention {
        success_ms: 0,
        cancelled_ms: 0,
        dead_ms: 0,
        count: 0,
    };
    let removed = town
        .store
        .retain(PARTITION, town.nonce(), &retention)
        .await
        .unwrap();
    assert!(removed.tasks >= 4, "{removed:?}");
    let report = town.audit().await;
    assert!(report.is_clean(), "{report:#?}");
    assert_eq!(
        report.looked_at["tasks that have left the store"],
        removed.tasks as u64
    );
}

#[tokio::test]
async fn what_happened_before_since_is_not_asked_of_the_stream() {
    let town = Town::new().await;
    let tasks = town.tasks().await;
    let entry = town.operate(tasks.ready, Operation::Cancel).await.unwrap();
    town.store.outbox_remove(PARTITION, &[entry.id]).await.unwrap();
    assert!(!town.audit().await.is_clean());
    let now = town.store.ping().await.unwrap();
    let report = town.audit_since(Some(now + 120_000)).await;
    assert!(report.is_clean(), "{report:#?}");
    assert!(report.trimmed["transitions"] > 0);
}
