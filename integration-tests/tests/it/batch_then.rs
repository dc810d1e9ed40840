//! `gengfu batch --then`: one task follows a batch when all of its rows have ended, decided by the platform alone.

use gengfu_integration_tests::{Cli, eventually};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::town::{LIMIT, Town};

const ROWS: u64 = 30;

async fn declare(town: &Town) {
    town.declare(&json!([
        {
            "name": "row", "handler": "echo",
            "input_schema": {
                "type": "object", "required": ["id"],
                "properties": {"id": {"type": "integer"}}, "additionalProperties": false,
            },
        },
        {"name": "report", "handler": "echo", "tier": "high"},
    ]))
    .await;
}

/// A file of 30 rows, one of them bad; the name it has.
fn file(folder: &TempDir, rows: u64) -> String {
    let mut text = String::from("id\n");
    for row in 1..=rows {
        text += &if row == 7 {
            "seven\n".to_owned()
        } else {
            format!("{row}\n")
        };
    }
    let path = folder.path().join("rows.csv");
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Submits the file; the batch's id.
async fn batch(cli: &Cli, file: &str, more: &[&str]) -> String {
    let arguments = [&["batch", "row", file, "--then", "report", "--json"], more].concat();
    let sent = cli.run(&arguments).await.unwrap();
    assert_eq!(sent.code, Some(0), "{sent:?}");
    sent.json()["batch_id"].as_str().unwrap().to_owned()
}

/// The task that followed, once there is one.
async fn followed(town: &Town, batch: &str) -> Option<String> {
    let shown = town
        .api
        .get(&format!("/api/v1/batches/{batch}"))
        .await
        .unwrap()
        .json();
    Some(shown["sealed"]["task_id"].as_str()?.to_owned())
}

async fn reports(town: &Town) -> Vec<Value> {
    town.api.list("/api/v1/tasks?type=report").await.unwrap()
}

#[tokio::test]
async fn one_task_follows_a_batch_whoever_dies_meanwhile() {
    let mut town = Town::start().await;
    declare(&town).await;
    let (folder, cli) = (TempDir::new().unwrap(), town.gateway.cli().unwrap());
    let file = file(&folder, ROWS);
    // The client is gone before a single row has run, and so is the scheduler.
    let batch_id = batch(&cli, &file, &[]).await;
    town.roles[0].kill();
    let _executor = town.executor("e1", 8);
    let path = format!("/api/v1/batches/{batch_id}");
    let batch_shown = eventually!(within LIMIT, {
        let shown = town.api.get(&path).await.unwrap().json();
        (shown["finished"] == true).then_some(shown)
    });
    assert_eq!(
        batch_shown["sealed"]["task_id"],
        Value::Null,
        "nobody decides now"
    );
    assert_eq!(reports(&town).await.len(), 0);
    let schedulers = ["one", "two"].map(|_| town.role("scheduler").start().unwrap());
    let task = eventually!(within LIMIT, followed(&town, &batch_id).await);
    let report = eventually!(within LIMIT, {
        let shown = town.api.get(&format!("/api/v1/tasks/{task}")).await.unwrap().json();
        (shown["status"] == "success").then_some(shown)
    });
    let payload = &report["payload"];
    assert_eq!(
        (&payload["batch_id"], &payload["total"]),
        (&json!(batch_id), &json!(ROWS)),
        "{report}"
    );
    let counts = &payload["counts"];
    assert_eq!(
        (&counts["success"], &counts["dead"], &counts["cancelled"]),
        (&json!(ROWS - 1), &json!(1), &json!(0))
    );
    // The same file again stores nothing, and nothing follows it a second time.
    assert_eq!(batch(&cli, &file, &["--resume", &batch_id]).await, batch_id);
    assert_eq!(followed(&town, &batch_id).await, Some(task));
    assert_eq!(reports(&town).await.len(), 1);
    drop(schedulers);
}

#[tokio::test]
async fn a_file_without_rows_is_followed_too_and_a_wrong_type_is_told_before_anything_is_sent() {
    let town = Town::start().await;
    declare(&town).await;
    let (folder, cli) = (TempDir::new().unwrap(), town.gateway.cli().unwrap());
    let file = file(&folder, 0);
    let batch_id = batch(&cli, &file, &["--wait"]).await;
    let task = eventually!(within LIMIT, followed(&town, &batch_id).await);
    let shown = town
        .api
        .get(&format!("/api/v1/tasks/{task}"))
        .await
        .unwrap()
        .json();
    assert_eq!(shown["payload"]["total"], 0, "{shown}");
    let refused = cli
        .run(&["batch", "row", &file, "--then", "nobody.knows"])
        .await
        .unwrap();
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("--then"), "{}", refused.stderr);
    assert_eq!(reports(&town).await.len(), 1);
}
