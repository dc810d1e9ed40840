//! What is known of a task.

use serde_json::json;

use crate::town::{Town, problems};

#[tokio::test]
async fn timeline_result_and_logs_of_a_task_that_ran() {
    let town = Town::start().await;
    town.declare(json!({"name": "t", "handler": "echo"})).await;
    let id = town.submit(json!({"task_type": "t", "payload": 1})).await;
    assert_eq!(town.get(&format!("/api/v1/tasks/{id}/logs")).await.status, 404);
    town.succeed(&id, b"\xffraw", b"line 1\nline 2\n").await;
    let timeline = town.get(&format!("/api/v1/tasks/{id}/timeline")).await.json();
    let items = timeline["items"].as_array().unwrap();
    let steps: Vec<_> = items
        .iter()
        .map(|item| (item["version"].clone(), item["from"].clone(), item["to"].clone()))
        .collect();
    assert_eq!(
        steps,
        [
            (json!(1), json!(null), json!("pending")),
            (json!(2), json!("pending"), json!("running")),
            (json!(3), json!("running"), json!("success")),
        ]
    );
    assert!(items[0]["at"].as_str().unwrap().ends_with('Z'));
    let task = town.get(&format!("/api/v1/tasks/{id}")).await.json();
    assert_eq!(
        (&task["status"], &task["attempt"], &task["result_base64"]),
        (&json!("success"), &json!(1), &json!("/3Jhdw=="))
    );
    assert_eq!(
        town.get(&format!("/api/v1/tasks/{id}/result")).await.body,
        b"\xffraw"
    );
    for path in ["logs", "logs?attempt=1"] {
        assert_eq!(
            town.get(&format!("/api/v1/tasks/{id}/{path}")).await.text(),
            "line 1\nline 2\n"
        );
    }
    assert_eq!(
        town.get(&format!("/api/v1/tasks/{id}/logs?attempt=2"))
            .await
            .status,
        404
    );
}

#[tokio::test]
async fn what_is_not_there_is_404_and_what_is_no_id_400() {
    let town = Town::start().await;
    let none = "0192f0c1-2d3e-7abc-8def-0123456789ab";
    for path in ["", "/timeline", "/payload", "/result", "/logs"] {
        assert_eq!(
            town.get(&format!("/api/v1/tasks/{none}{path}")).await.status,
            404,
            "{path}"
        );
        let bad = town.get(&format!("/api/v1/tasks/xyz{path}")).await;
        assert_eq!(
            (bad.status.as_u16(), problems(&bad)[0].0.as_str()),
            (400, "task_id"),
            "{path}"
        );
    }
    for path in [
        "/api/v1/nothing",
        "/nothing",
        "/api/v1/types/none",
        &format!("/api/v1/batches/{none}"),
    ] {
        assert_eq!(town.get(path).await.status, 404, "{path}");
    }
    let answer = town.get("/api/v1/tasks:batch").await;
    assert_eq!(answer.status, 405);
    problems(&answer);
}

#[tokio::test]
async fn lists_are_filtered_and_come_in_pages() {
    let town = Town::start().await;
    town.declare(json!({"name": "a", "handler": "echo"})).await;
    town.declare(json!({"name": "b", "handler": "echo", "tier": "high"}))
        .await;
    for _ in 0..5 {
        town.submit(json!({"task_type": "a", "payload": 1})).await;
    }
    let b = town.submit(json!({"task_type": "b", "payload": "p"})).await;
    town.kill(&b).await;
    for (query, count) in [
        ("", 6),
        ("type=a", 5),
        ("status=dead", 1),
        ("tier=high", 1),
        ("type=a&status=dead", 0),
        ("error_code=http_422", 1),
        ("since=1h", 6),
        ("until=2020-01-01", 0),
        ("limit=2", 6),
    ] {
        let items = town.api.list(&format!("/api/v1/tasks?{query}")).await.unwrap();
        assert_eq!(items.len(), count, "{query}");
    }
    assert_eq!(
        town.get("/api/v1/tasks?limit=2").await.json()["items"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    let dead = town.get("/api/v1/dead?type=b").await.json();
    assert_eq!(
        (&dead["items"][0]["task_id"], &dead["items"][0]["input_info"]),
        (&json!(b), &json!("\"p\""))
    );
    assert!(dead["items"][0].get("payload").is_none());
    for (query, field) in [
        ("limit=1001", "limit"),
        ("limit=0", "limit"),
        ("status=done", "status"),
        ("tier=x", "tier"),
        ("batch=x", "batch"),
        ("since=soon", "since"),
        ("cursor=x", "cursor"),
        ("typ=a", "typ"),
    ] {
        let answer = town.get(&format!("/api/v1/tasks?{query}")).await;
        assert_eq!(
            (answer.status.as_u16(), problems(&answer)[0].0.as_str()),
            (400, field),
            "{query}"
        );
    }
}
