//! One task in, and everything that may be wrong with it.

use serde_json::{Value, json};

use crate::town::{Town, problems};

const SCHEMA: &str = include_str!("../../../../cases/batch/schema.json");

async fn town() -> Town {
    let town = Town::start().await;
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    town.declare(json!({"name": "room", "handler": "echo", "input_schema": schema}))
        .await;
    town.declare(json!({"name": "plain", "handler": "echo", "tier": "low"}))
        .await;
    town
}

#[tokio::test]
async fn a_submission_becomes_a_task() {
    let town = town().await;
    let answer = town
        .post_text(
            "/api/v1/tasks",
            r#"{"task_type":"plain","payload": {"n" : 18446744073709551615, "x": 1.10}}"#,
        )
        .await;
    assert_eq!(answer.status, 201);
    let (body, id) = (
        answer.json(),
        answer.json()["task_id"].as_str().unwrap().to_owned(),
    );
    assert_eq!(
        (&body["status"], &body["existing"]),
        (&json!("pending"), &json!(false))
    );
    let task = town.get(&format!("/api/v1/tasks/{id}")).await;
    assert!(
        task.text()
            .contains(r#""payload":{"n" : 18446744073709551615, "x": 1.10}"#),
        "{}",
        task.text()
    );
    let task = task.json();
    assert_eq!(
        (&task["tier"], &task["actor"], &task["sub_state"]),
        (&json!("low"), &json!("api"), &json!("ready"))
    );
    let payload = town.get(&format!("/api/v1/tasks/{id}/payload")).await;
    assert_eq!(payload.text(), r#"{"n" : 18446744073709551615, "x": 1.10}"#);
}

#[tokio::test]
async fn bytes_that_are_no_json_come_and_go_as_base64() {
    let town = town().await;
    let id = town
        .submit(json!({"task_type": "plain", "payload_base64": "AP/+8J+Pri4="}))
        .await;
    let task = town.get(&format!("/api/v1/tasks/{id}")).await.json();
    assert_eq!(task["payload_base64"], "AP/+8J+Pri4=");
    assert!(task.get("payload").is_none());
    let raw = town.get(&format!("/api/v1/tasks/{id}/payload")).await;
    assert_eq!(raw.body, b"\0\xff\xfe\xf0\x9f\x8f\xae.");
}

#[tokio::test]
async fn a_key_gives_the_same_task_and_another_payload_is_a_conflict() {
    let town = town().await;
    let body = |n: u32| json!({"task_type": "plain", "payload": n, "idempotency_key": "k"});
    let id = town.submit(body(1)).await;
    let again = town.post("/api/v1/tasks", body(1)).await;
    assert_eq!(
        (again.status.as_u16(), again.json()["task_id"].as_str().unwrap()),
        (200, id.as_str())
    );
    assert_eq!(again.json()["existing"], true);
    let other = town.post("/api/v1/tasks", body(2)).await;
    assert_eq!(other.status, 409);
    assert_eq!(problems(&other)[0].0, "idempotency_key");
    assert_eq!(other.json()["task_id"].as_str().unwrap(), id);
    assert_eq!(town.stored().await, 1);
}

#[tokio::test]
async fn bad_input_is_named_and_nothing_is_stored() {
    let town = town().await;
    let large = "x".repeat(262_144);
    let cases = [
        (422, json!({"task_type": "nope"}), "task_type", "nope"),
        (422, json!({"payload": 1}), "task_type", "missing"),
        (
            422,
            json!({"task_type": "plain", "tier": "urgent"}),
            "tier",
            "urgent",
        ),
        (
            422,
            json!({"task_type": "room", "payload": {"room_id": "x", "title": "a"}}),
            "payload.room_id",
            "integer",
        ),
        (422, json!({"task_type": "room"}), "payload", "no JSON"),
        (
            413,
            json!({"task_type": "plain", "payload": large}),
            "payload",
            "262146 bytes",
        ),
        (422, json!({"task_type": "plain", "delay": "5"}), "delay", "30s"),
        (
            422,
            json!({"task_type": "plain", "at": "tomorrow"}),
            "at",
            "tomorrow",
        ),
        (
            422,
            json!({"task_type": "plain", "payload_base64": "*"}),
            "payload_base64",
            "base64",
        ),
        (
            400,
            json!({"task_type": "plain", "max_retry": -1}),
            "max_retry",
            "-1",
        ),
        (
            400,
            json!({"task_type": "plain", "tier": 3}),
            "tier",
            "integer `3`",
        ),
        (
            400,
            json!({"task_type": "plain", "prio": 3}),
            "prio",
            "unknown field",
        ),
        (400, json!([]), "body", "object"),
    ];
    for (status, body, field, reason) in cases {
        let answer = town.post("/api/v1/tasks", body.clone()).await;
        let told = problems(&answer);
        assert_eq!(answer.status.as_u16(), status, "{body}: {told:?}");
        let found = told
            .iter()
            .any(|(name, why)| name == field && why.contains(reason));
        assert!(found, "{field} {reason:?} in {told:?}");
    }
    assert_eq!(town.stored().await, 0);
}

#[tokio::test]
async fn a_body_that_breaks_off_says_where() {
    let town = town().await;
    for (body, place) in [
        ("{\"task_type\":\"plain\",\n \"payload\": {", "line 2"),
        ("", "line 1"),
        ("{}}", "line 1 column 3"),
    ] {
        let answer = town.post_text("/api/v1/tasks", body).await;
        assert_eq!(answer.status, 400, "{body}");
        assert!(answer.text().contains(place), "{}", answer.text());
    }
    let over = vec![b' '; (8 << 20) + 1];
    let answer = town.api.post_bytes("/api/v1/tasks", &over).await.unwrap();
    assert_eq!(answer.status, 413);
    assert_eq!(problems(&answer)[0].0, "body");
    assert_eq!(town.stored().await, 0);
}

#[tokio::test]
async fn a_payload_of_just_the_limit_is_taken() {
    let town = town().await;
    town.submit(json!({"task_type": "plain", "payload": "x".repeat(262_142)}))
        .await;
}

#[tokio::test]
async fn a_delay_is_kept() {
    let town = town().await;
    let id = town.submit(json!({"task_type": "plain", "delay": "1h"})).await;
    assert_eq!(
        town.get(&format!("/api/v1/tasks/{id}")).await.json()["sub_state"],
        "delayed"
    );
    let id = town
        .submit(json!({"task_type": "plain", "at": "2050-01-01T08:00:00+08:00"}))
        .await;
    assert_eq!(
        town.get(&format!("/api/v1/tasks/{id}")).await.json()["next_run_time"],
        "2050-01-01T00:00:00Z"
    );
}
