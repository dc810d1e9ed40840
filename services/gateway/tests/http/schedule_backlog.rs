//! Triggers by hand, what was missed, and fires of the past.

use serde_json::{Value, json};

use crate::{
    schedule_acts::busy,
    schedules::{apply, nightly, show, town},
    town::{Town, problems},
};

/// Waits until a schedule, which nobody fires here, has missed so many instants.
async fn backlog(town: &Town, name: &str, count: u64) -> Value {
    loop {
        let backlog = town
            .get(&format!("/api/v1/schedules/{name}/backlog"))
            .await
            .json();
        if backlog["count"].as_u64().unwrap() >= count {
            return backlog;
        }
        tokio::task::yield_now().await;
    }
}

async fn records(town: &Town, name: &str) -> Vec<Value> {
    town.api
        .list(&format!("/api/v1/schedules/{name}/triggers?order=oldest_first"))
        .await
        .unwrap()
}

#[tokio::test]
async fn a_trigger_by_hand_is_a_task_and_none_of_the_planned_instants() {
    let town = town().await;
    let mut limited = nightly();
    limited["max_fires"] = json!(1);
    apply(&town, limited).await;
    let before = show(&town, "nightly").await;
    let path = "/api/v1/schedules/nightly/trigger";
    let first = town.post(path, json!({})).await;
    assert_eq!(first.status, 201, "{}", first.text());
    let id = first.json()["task_id"].as_str().unwrap().to_owned();
    let task = town.get(&format!("/api/v1/tasks/{id}")).await.json();
    assert_eq!(
        (&task["schedule_id"], &task["task_type"]),
        (&json!("nightly"), &json!("a"))
    );
    let payload = town.get(&format!("/api/v1/tasks/{id}/payload")).await;
    assert_eq!(payload.text(), r#"{"n":1}"#);
    // A payload goes as its exact text, and a key names one task.
    let body = r#"{"payload": {"n": 1.10}, "idempotency_key": "k", "reason": "by phone"}"#;
    let keyed = town.post_text(path, body).await;
    assert_eq!(keyed.status, 201, "{}", keyed.text());
    let again = town.post_text(path, body).await;
    assert_eq!(
        (again.status.as_u16(), &again.json()["existing"]),
        (200, &json!(true))
    );
    assert_eq!(again.json()["task_id"], keyed.json()["task_id"]);
    let id = keyed.json()["task_id"].as_str().unwrap().to_owned();
    assert_eq!(
        town.get(&format!("/api/v1/tasks/{id}/payload")).await.text(),
        r#"{"n": 1.10}"#
    );
    let rows = records(&town, "nightly").await;
    assert_eq!(rows.len(), 2);
    assert!(
        rows.iter()
            .all(|row| row["manual"] == true && row["reason"] == "manual"),
        "{rows:?}"
    );
    let after = show(&town, "nightly").await;
    assert_eq!(
        (&after["fires"], &after["cursor"]),
        (&json!(0), &before["cursor"])
    );
    assert_eq!(
        town.post("/api/v1/schedules/none/trigger", json!({}))
            .await
            .status,
        404
    );
}

#[tokio::test]
async fn a_trigger_whose_payload_the_type_refuses_is_refused() {
    let town = Town::start().await;
    let strict = json!({"name": "a", "handler": "echo", "input_schema": {"required": ["n"]}});
    town.declare(strict).await;
    apply(&town, nightly()).await;
    let refused = town
        .post("/api/v1/schedules/nightly/trigger", json!({"payload": {"m": 1}}))
        .await;
    assert_eq!(refused.status, 422);
    assert_eq!(problems(&refused)[0].0, "payload");
    assert_eq!(town.stored().await, 0);
}

#[tokio::test]
async fn a_backlog_is_shown_and_decided_about_also_in_a_pause() {
    let town = town().await;
    apply(&town, busy()).await;
    apply(&town, nightly()).await;
    town.post("/api/v1/schedules/busy/pause", json!({})).await;
    let shown = backlog(&town, "busy", 2).await;
    assert_eq!(
        (&shown["policy"], &shown["state"], &shown["decided"]),
        (&json!("fire_once"), &json!("paused"), &json!(false))
    );
    let choices: Vec<_> = shown["would"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["choice"])
        .collect();
    assert_eq!(choices, ["skip", "fire_once", "catch_up"]);
    assert_eq!(
        (&shown["would"][0]["fires"], &shown["would"][1]["fires"]),
        (&json!(0), &json!(1))
    );
    let all = town.get("/api/v1/backlog").await.json();
    assert_eq!(all["items"].as_array().unwrap().len(), 1, "{all}");
    let path = "/api/v1/schedules/busy/backlog";
    let body = json!({"choice": "range", "from": shown["first"], "to": shown["last"], "dry_run": true});
    let dry = town.post(path, body.clone()).await.json();
    assert_eq!(
        (&dry["choice"], &dry["decided"]),
        (&json!("range"), &json!(false))
    );
    assert_eq!(
        dry["fires"].as_u64().unwrap(),
        shown["count"].as_u64().unwrap() - 1
    );
    let rate = json!({"choice": "catch_up", "rate": "1/s"});
    assert_eq!(problems(&town.post(path, rate).await)[0].0, "rate");
    let skipped = town.post(path, json!({"choice": "skip"})).await;
    assert_eq!(
        (skipped.status.as_u16(), &skipped.json()["decided"]),
        (200, &json!(true))
    );
    assert_eq!(backlog(&town, "busy", 2).await["decided"], true);
    assert_eq!(town.stored().await, 0);
    for (body, field) in [
        (json!({"choice": "most"}), "choice"),
        (json!({"choice": "range", "from": "2026-01-01T00:00:00Z"}), "to"),
        (
            json!({"choice": "range", "from": "2026-01-02T00:00:00Z", "to": "2026-01-01T00:00:00Z"}),
            "to",
        ),
        (json!({"choice": "skip", "max": 5}), "max"),
        (json!({"choice": "catch_up", "rate": "fast"}), "rate"),
        (json!({"choice": "catch_up", "within": "soon"}), "within"),
    ] {
        assert_eq!(problems(&town.post(path, body).await)[0].0, field);
    }
}

#[tokio::test]
async fn a_backlog_is_fired_at_a_rate() {
    let town = town().await;
    apply(&town, busy()).await;
    let shown = backlog(&town, "busy", 3).await;
    let body = json!({"choice": "range", "from": shown["first"], "to": "2999-01-01T00:00:00Z", "rate": "1/h", "reason": "slowly"});
    let done = town.post("/api/v1/schedules/busy/backlog", body).await;
    assert_eq!(done.status, 200, "{}", done.text());
    let fires = done.json()["fires"].as_u64().unwrap();
    assert!(fires >= 3);
    let tasks = town.api.list("/api/v1/tasks").await.unwrap();
    assert_eq!(tasks.len() as u64, fires);
    let delayed = tasks.iter().filter(|task| task["sub_state"] == "delayed").count() as u64;
    assert_eq!(
        delayed,
        fires - 1,
        "the first is due at once, each other an hour later"
    );
    let rows = records(&town, "busy").await;
    assert!(
        rows.iter()
            .all(|row| row["outcome"] == "fired" && row["reason"] == "backlog"),
        "{rows:?}"
    );
    assert_eq!(show(&town, "busy").await["fires"], fires);
}

#[tokio::test]
async fn a_backfill_fires_each_instant_of_its_range_once() {
    let town = town().await;
    apply(&town, nightly()).await;
    let path = "/api/v1/schedules/nightly/backfill";
    let range = |dry_run: bool| json!({"from": "2026-03-01T18:00:00Z", "to": "2026-03-04T18:00:00Z", "dry_run": dry_run});
    let dry = town.post(path, range(true)).await.json();
    assert_eq!((&dry["instants"], &dry["fired"]), (&json!(3), &json!(3)), "{dry}");
    assert_eq!(
        (&dry["first"], &dry["last"]),
        (&json!("2026-03-01T18:00:00Z"), &json!("2026-03-03T18:00:00Z"))
    );
    assert_eq!(town.stored().await, 0);
    let done = town.post(path, range(false)).await.json();
    assert_eq!(
        (&done["fired"], &done["fired_before"]),
        (&json!(3), &json!(0)),
        "{done}"
    );
    let again = town.post(path, range(false)).await.json();
    assert_eq!(
        (&again["fired"], &again["fired_before"]),
        (&json!(0), &json!(3)),
        "{again}"
    );
    assert_eq!(town.stored().await, 3);
    let rows = records(&town, "nightly").await;
    assert!(
        rows.iter()
            .all(|row| row["reason"] == "backfill" && row["manual"] == false)
    );
    for (body, status, field) in [
        (json!({"from": "2026-03-01T18:00:00Z"}), 400, "to"),
        (
            json!({"from": "2026-03-01", "to": "2026-03-04T18:00:00Z"}),
            400,
            "from",
        ),
        (
            json!({"from": "2026-03-01T18:00:00Z", "to": "2026-03-01T18:00:00Z"}),
            400,
            "to",
        ),
        (
            json!({"from": "1970-01-02T00:00:00Z", "to": "2026-03-01T18:00:00Z"}),
            422,
            "to",
        ),
    ] {
        let refused = town.post(path, body).await;
        assert_eq!(
            (refused.status.as_u16(), problems(&refused)[0].0.as_str()),
            (status, field)
        );
    }
}
