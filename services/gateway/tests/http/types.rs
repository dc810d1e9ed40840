//! Types and their declaration.

use serde_json::json;

use crate::town::{Town, problems};

#[tokio::test]
async fn apply_says_what_changes_and_a_dry_run_changes_nothing() {
    let town = Town::start().await;
    let body = |tier: &str| json!({"types": [{"name": "a", "handler": "echo", "tier": tier}]});
    let dry = town.post("/api/v1/apply?dry_run=true", body("high")).await.json();
    assert_eq!(
        (&dry["dry_run"], &dry["changes"][0]["change"]),
        (&json!(true), &json!("created"))
    );
    assert_eq!(town.get("/api/v1/types").await.json()["items"], json!([]));
    town.post("/api/v1/apply", body("high")).await;
    let same = town.post("/api/v1/apply", body("high")).await.json();
    assert_eq!(same["changes"][0]["change"], "unchanged");
    let changed = town.post("/api/v1/apply", body("low")).await.json();
    assert_eq!(
        changed["changes"][0]["fields"],
        json!([{"field": "tier", "from": "high", "to": "low"}])
    );
    assert_eq!(town.get("/api/v1/types/a").await.json()["tier"], "low");
}

#[tokio::test]
async fn a_wrong_definition_is_named_and_nothing_changes() {
    let town = Town::start().await;
    for (body, status, field, reason) in [
        (
            json!({"types": [{"name": "a", "handler": "echo"}, {"name": "b", "handler": "echo", "retries": 1}]}),
            422,
            "types[1] (b)",
            "retries",
        ),
        (
            json!({"types": [{"name": "b", "handler": "echo", "run_timeout": "5"}]}),
            422,
            "types[0] (b)",
            "run_timeout",
        ),
        (
            json!({"types": [{"name": "b", "handler": "echo", "input_schema": {"type": 5}}]}),
            422,
            "types[0] (b)",
            "input_schema",
        ),
        (json!({"tipes": []}), 400, "tipes", "unknown field"),
        (json!({"pools": []}), 400, "pools", "yet"),
    ] {
        let answer = town.post("/api/v1/apply", body).await;
        let told = problems(&answer);
        assert_eq!(answer.status.as_u16(), status, "{told:?}");
        assert!(told[0].0 == field && told[0].1.contains(reason), "{told:?}");
    }
    assert_eq!(town.get("/api/v1/types").await.json()["items"], json!([]));
}

#[tokio::test]
async fn a_type_is_paused_resumed_and_set_and_apply_leaves_the_pause() {
    let town = Town::start().await;
    town.declare(json!({"name": "a", "handler": "echo"})).await;
    let paused = town
        .post("/api/v1/types/a/pause", json!({"reason": "third party is down"}))
        .await;
    assert_eq!(
        paused.json()["fields"],
        json!([{"field": "paused", "from": null, "to": true}])
    );
    town.declare(json!({"name": "a", "handler": "echo", "concurrency": 5}))
        .await;
    let shown = town.get("/api/v1/types/a").await.json();
    assert_eq!(
        (&shown["paused"], &shown["concurrency"]),
        (&json!(true), &json!(5))
    );
    assert_eq!(town.post("/api/v1/types/a/resume", json!({})).await.status, 200);
    let set = town
        .api
        .patch("/api/v1/types/a", &json!({"concurrency": null, "max_retry": 2}))
        .await
        .unwrap();
    assert_eq!(set.status, 200, "{}", set.text());
    let shown = town.get("/api/v1/types/a").await.json();
    assert_eq!(
        (shown.get("concurrency"), &shown["max_retry"], shown.get("paused")),
        (None, &json!(2), None)
    );
    for (body, field) in [
        (json!({"name": "b"}), "name"),
        (json!({"tier": "x"}), "types (a)"),
        (json!({"foo": 1}), "types (a)"),
    ] {
        let answer = town.api.patch("/api/v1/types/a", &body).await.unwrap();
        assert_eq!(problems(&answer)[0].0, field);
    }
    assert_eq!(town.post("/api/v1/types/none/pause", json!({})).await.status, 404);
}

#[tokio::test]
async fn stats_count_by_status_and_type() {
    let town = Town::start().await;
    town.declare(json!({"name": "a", "handler": "echo"})).await;
    for _ in 0..3 {
        town.submit(json!({"task_type": "a"})).await;
    }
    let id = town.submit(json!({"task_type": "a", "delay": "1h"})).await;
    town.post(&format!("/api/v1/tasks/{id}/cancel"), json!({})).await;
    let stats = town.get("/api/v1/stats").await.json();
    assert_eq!(
        (&stats["tasks"]["pending"], &stats["tasks"]["cancelled"]),
        (&json!(3), &json!(1))
    );
    assert_eq!(stats["types"]["a"]["pending"], 3);
    let ready: u64 = stats["queues"]
        .as_array()
        .unwrap()
        .iter()
        .map(|queue| queue["ready"].as_u64().unwrap())
        .sum();
    assert_eq!(ready, 3);
    assert_eq!(town.get("/api/v1/executors").await.json()["items"], json!([]));
}
