//! What follows a batch: one task, whoever looks and however often, when all rows have ended.

use domain::{Status, TaskId};
use gengfu_integration_tests::eventually;
use store::{NewTask, Origin, Page, Seal, TaskFilter, TaskStore, TaskView};

use crate::town::{NOW, Town, task};

/// A batch at home in the partition `number` modulo the partitions, with this many dead rows in partitions of their own.
async fn batch(town: &mut Town, number: u8, rows: u8) -> TaskId {
    let batch = TaskId::new(NOW, [number; 10]);
    for row in 0..rows {
        let new = NewTask {
            batch_id: Some(batch),
            rejected: Some("no".into()),
            ..task(TaskId::new(NOW, [100 + row; 10]), 0)
        };
        town.admit_new(new).await;
    }
    batch
}

async fn seal(town: &Town, batch: TaskId, total: u64, then: &str) {
    let seal = Seal {
        total,
        then: Some(then.into()),
        parent_id: Some(batch),
    };
    let origin = Origin {
        actor: "ada".into(),
        ..Origin::default()
    };
    let nonce = [batch.as_bytes()[15]; 16];
    town.store.seal(nonce, &origin, batch, &seal).await.unwrap();
}

async fn declare(town: &Town) {
    let report = serde_json::json!({"name": "report", "handler": "echo", "tier": "high"});
    town.store
        .put_types(&[serde_json::from_value(report).unwrap()])
        .await
        .unwrap();
}

/// The tasks of a type, by way of the list that people see.
async fn tasks(town: &Town, task_type: &str) -> Vec<TaskView> {
    let filter = TaskFilter {
        task_type: Some(task_type.into()),
        ..TaskFilter::default()
    };
    let page = Page {
        limit: 100,
        cursor: None,
    };
    town.store.list(&filter, &page).await.unwrap().items
}

async fn followed(town: &Town, batch: TaskId) -> Option<TaskId> {
    town.store.sealed(batch).await.unwrap()?.followed_by
}

#[tokio::test]
async fn one_task_follows_when_all_rows_have_ended() {
    let mut town = Town::standing().await;
    declare(&town).await;
    let (one, two) = (town.start("n1"), town.start("n2"));
    let ended = batch(&mut town, 1, 3).await;
    let waits = batch(&mut town, 2, 0).await;
    seal(&town, waits, 1, "report").await;
    seal(&town, ended, 3, "report").await;
    let id = eventually!(followed(&town, ended).await);
    let found = tasks(&town, "report").await;
    assert_eq!(found.len(), 1, "{found:?}");
    let view = &found[0];
    assert_eq!((view.task.id, view.task.status), (id, Status::Pending));
    assert_eq!((view.task.parent_id, view.task.batch_id), (Some(ended), None));
    assert_eq!(view.task.idempotency_key, format!("{ended}/then"));
    assert_eq!(view.task.actor, "ada");
    let payload: serde_json::Value = serde_json::from_slice(&view.payload).unwrap();
    assert_eq!(payload["batch_id"], ended.to_string());
    assert_eq!(
        (&payload["total"], &payload["counts"]["dead"]),
        (&3.into(), &3.into())
    );
    assert_eq!(followed(&town, waits).await, None);
    assert!(one.stop().await.is_clean() && two.stop().await.is_clean());
}

#[tokio::test]
async fn a_crash_before_the_note_makes_no_second_task() {
    let mut town = Town::standing().await;
    declare(&town).await;
    let ended = batch(&mut town, 1, 2).await;
    // The task was admitted, with other counts at that, and then the scheduler died.
    let key = format!("{ended}/then");
    let first = NewTask {
        task_type: "report".into(),
        idempotency_key: key.clone(),
        key_window_ms: 60_000,
        ..task(TaskId::keyed(NOW, [9; 10], "report", &key), 0)
    };
    let id = first.id;
    town.admit_new(first).await;
    seal(&town, ended, 2, "report").await;
    let running = town.start("n1");
    assert_eq!(eventually!(followed(&town, ended).await), id);
    assert_eq!(tasks(&town, "report").await.len(), 1);
    assert!(running.stop().await.is_clean());
}

#[tokio::test]
async fn a_type_that_is_gone_leaves_a_dead_task_that_says_so() {
    let mut town = Town::standing().await;
    let running = town.start("n1");
    let ended = batch(&mut town, 3, 1).await;
    seal(&town, ended, 1, "nobody.knows").await;
    let id = eventually!(followed(&town, ended).await);
    let view = town.store.get(id).await.unwrap().unwrap();
    assert_eq!(
        (view.task.status, view.task.error_code.as_str()),
        (Status::Dead, "invalid_input")
    );
    assert!(view.error.contains("nobody.knows"), "{}", view.error);
    assert!(running.stop().await.is_clean());
}
