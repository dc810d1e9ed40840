//! Many tasks in one request.

use serde_json::{Value, json};

use crate::town::{Town, problems};

async fn town() -> Town {
    let town = Town::start().await;
    town.declare(json!({"name": "plain", "handler": "echo", "input_schema": {"type": "integer"}}))
        .await;
    town
}

#[tokio::test]
async fn each_task_gets_its_own_answer_in_order() {
    let town = town().await;
    let body = json!({
        "defaults": {"task_type": "plain", "tier": "high"},
        "tasks": [
            {"payload": 1, "idempotency_key": "a"},
            {"payload": "x"},
            {"payload": 1, "idempotency_key": "a"},
            {"payload": 2, "idempotency_key": "a"},
            {"payload": 3, "task_type": "nope"},
            {"payload": 4, "tier": "low"},
        ],
    });
    let answer = town.post("/api/v1/tasks:batch", body).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let body = answer.json();
    let items = body["items"].as_array().unwrap();
    assert_eq!((&body["accepted"], &body["refused"]), (&json!(3), &json!(3)));
    assert_eq!(items[0]["task_id"], items[2]["task_id"]);
    let existing: Vec<_> = [0, 2, 5].map(|at| items[at]["existing"].clone()).into();
    assert_eq!(existing, [json!(false), json!(true), json!(false)]);
    let codes: Vec<_> = [1, 3, 4].map(|at| items[at]["code"].clone()).into();
    assert_eq!(codes, [json!(422), json!(409), json!(422)]);
    assert_eq!(items[1]["errors"][0]["field"], "payload");
    let task = town
        .get(&format!(
            "/api/v1/tasks/{}",
            items[5]["task_id"].as_str().unwrap()
        ))
        .await
        .json();
    assert_eq!((&task["tier"], &task["payload"]), (&json!("low"), &json!(4)));
    assert_eq!(town.stored().await, 2);
}

#[tokio::test]
async fn a_thousand_tasks_go_and_one_more_is_too_many() {
    let town = town().await;
    let tasks = |count: u32| -> Value { (0..count).map(|n| json!({"payload": n})).collect() };
    let body = json!({"defaults": {"task_type": "plain"}, "tasks": tasks(1_001)});
    let answer = town.post("/api/v1/tasks:batch", body).await;
    assert_eq!(answer.status, 400);
    assert!(problems(&answer)[0].1.contains("1001"));
    assert_eq!(town.stored().await, 0);
    let body = json!({"defaults": {"task_type": "plain"}, "tasks": tasks(1_000)});
    let answer = town.post("/api/v1/tasks:batch", body).await.json();
    assert_eq!(answer["accepted"], 1_000);
    let items = town.api.list("/api/v1/tasks?limit=300&type=plain").await.unwrap();
    assert_eq!(items.len(), 1_000);
    for (n, item) in [(0, &answer["items"][0]), (999, &answer["items"][999])] {
        let task = town
            .get(&format!("/api/v1/tasks/{}", item["task_id"].as_str().unwrap()))
            .await
            .json();
        assert_eq!(task["payload"], n);
    }
}

#[tokio::test]
async fn a_malformed_item_is_named_and_nothing_is_stored() {
    let town = town().await;
    let body =
        json!({"tasks": [{"task_type": "plain", "payload": 1}, {"task_type": "plain", "payloads": 1}]});
    let answer = town.post("/api/v1/tasks:batch", body).await;
    assert_eq!(
        (answer.status.as_u16(), problems(&answer)[0].0.as_str()),
        (400, "tasks[1].payloads")
    );
    assert_eq!(town.stored().await, 0);
}

#[tokio::test]
async fn a_rejected_row_is_stored_dead_with_its_place() {
    let town = town().await;
    let batch = "0192f0c1-2d3e-7abc-8def-0123456789ab";
    let body = json!({
        "defaults": {"task_type": "plain", "batch_id": batch},
        "tasks": [
            {"payload": "x7", "batch_row": 3, "rejected": {"line": 3, "column": "room_id", "reason": "no integer"}},
            {"payload": 5, "batch_row": 4},
        ],
    });
    let answer = town.post("/api/v1/tasks:batch", body).await.json();
    assert_eq!(answer["items"][0]["status"], "dead", "{answer}");
    let dead = town.get(&format!("/api/v1/dead?batch={batch}")).await.json();
    let dead = &dead["items"][0];
    assert_eq!(
        (&dead["error_class"], &dead["error_code"]),
        (&json!("deterministic"), &json!("invalid_input"))
    );
    let error: Value = serde_json::from_str(dead["error"].as_str().unwrap()).unwrap();
    assert_eq!(
        error,
        json!({"line": 3, "column": "room_id", "reason": "no integer"})
    );
    let shown = town.get(&format!("/api/v1/batches/{batch}")).await.json();
    assert_eq!(
        (
            &shown["total"],
            &shown["counts"]["dead"],
            &shown["counts"]["pending"]
        ),
        (&json!(2), &json!(1), &json!(1))
    );
}
