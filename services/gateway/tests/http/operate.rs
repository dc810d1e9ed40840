//! What an operator does to a task.

use serde_json::json;

use crate::town::{Town, problems};

async fn town() -> Town {
    let town = Town::start().await;
    town.declare(json!({"name": "t", "handler": "echo"})).await;
    town
}

#[tokio::test]
async fn a_dead_task_is_retried_with_reason_and_limit() {
    let town = town().await;
    let id = town.submit(json!({"task_type": "t"})).await;
    let refused = town.post(&format!("/api/v1/tasks/{id}/retry"), json!({})).await;
    assert_eq!(
        (refused.status.as_u16(), problems(&refused)[0].0.as_str()),
        (409, "status")
    );
    town.kill(&id).await;
    let answer = town
        .post(
            &format!("/api/v1/tasks/{id}/retry"),
            json!({"reason": "mended", "max_retry": 7}),
        )
        .await;
    assert_eq!(
        (answer.status.as_u16(), &answer.json()["status"]),
        (200, &json!("pending"))
    );
    let task = town.get(&format!("/api/v1/tasks/{id}")).await.json();
    assert_eq!((&task["max_retry"], &task["retry_count"]), (&json!(7), &json!(0)));
    let timeline = town.get(&format!("/api/v1/tasks/{id}/timeline")).await.json();
    let last = timeline["items"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (&last["reason"], &last["actor"], &last["from"]),
        (&json!("mended"), &json!("api"), &json!("dead"))
    );
}

#[tokio::test]
async fn a_waiting_task_is_cancelled_at_once_and_a_running_one_is_stopped_first() {
    let town = town().await;
    let waiting = town.submit(json!({"task_type": "t"})).await;
    let answer = town
        .api
        .post_bytes(&format!("/api/v1/tasks/{waiting}/cancel"), b"")
        .await
        .unwrap();
    assert_eq!(
        (answer.status.as_u16(), &answer.json()["status"]),
        (200, &json!("cancelled"))
    );
    let again = town
        .post(&format!("/api/v1/tasks/{waiting}/cancel"), json!({}))
        .await;
    assert_eq!(again.status, 409);
    let running = town.submit(json!({"task_type": "t"})).await;
    town.claim(&running).await;
    let answer = town
        .post(&format!("/api/v1/tasks/{running}/cancel"), json!({}))
        .await;
    assert_eq!(
        (answer.status.as_u16(), &answer.json()["stopping"]),
        (202, &json!(true))
    );
}

#[tokio::test]
async fn a_delayed_task_is_reset_and_fields_are_set() {
    let town = town().await;
    let id = town.submit(json!({"task_type": "t", "delay": "1h"})).await;
    let path = format!("/api/v1/tasks/{id}");
    let body = json!({"max_retry": 9, "run_timeout": "7m", "next_run_time": "2050-01-01T00:00:00Z"});
    assert_eq!(town.api.patch(&path, &body).await.unwrap().status, 200);
    let task = town.get(&path).await.json();
    assert_eq!(
        (&task["max_retry"], &task["run_timeout"]),
        (&json!(9), &json!("7m"))
    );
    assert_eq!(task["next_run_time"], "2050-01-01T00:00:00Z");
    let answer = town
        .post(&format!("{path}/reset"), json!({"reason": "now"}))
        .await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(town.get(&path).await.json()["sub_state"], "ready");
}

#[tokio::test]
async fn bad_acts_are_named() {
    let town = town().await;
    let id = town.submit(json!({"task_type": "t"})).await;
    let path = format!("/api/v1/tasks/{id}");
    for (verb, body, status, field) in [
        ("cancel", json!({"max_retry": 1}), 400, "max_retry"),
        ("cancel", json!({"reson": "x"}), 400, "reson"),
        ("cancel", json!({"reason": "x".repeat(501)}), 400, "reason"),
    ] {
        let answer = town.post(&format!("{path}/{verb}"), body).await;
        assert_eq!(
            (answer.status.as_u16(), problems(&answer)[0].0.as_str()),
            (status, field)
        );
    }
    assert_eq!(town.post(&format!("{path}/explode"), json!({})).await.status, 404);
    let none = "/api/v1/tasks/0192f0c1-2d3e-7abc-8def-0123456789ab/cancel";
    assert_eq!(town.post(none, json!({})).await.status, 404);
    for (body, field) in [
        (json!({}), "body"),
        (json!({"run_timeout": "5"}), "run_timeout"),
        (json!({"status": "dead"}), "status"),
    ] {
        let answer = town.api.patch(&path, &body).await.unwrap();
        assert_eq!(
            (answer.status.as_u16(), problems(&answer)[0].0.as_str()),
            (400, field)
        );
    }
    assert_eq!(town.get(&path).await.json()["status"], "pending");
}
