//! What people do to schedules: preview, pause, resume, look back.

use serde_json::{Value, json};

use crate::{
    schedules::{apply, nightly, show, town},
    town::{Town, problems},
};

/// A schedule with an instant each second.
pub(crate) fn busy() -> Value {
    json!({"name": "busy", "type": "a", "every": "1s", "zone": "UTC", "payload": {"n": 1}})
}

/// Waits until a schedule has this many instants behind its cursor.
pub(crate) async fn missed(town: &Town, name: &str, count: u64) -> Value {
    loop {
        let rows = town
            .get(&format!("/api/v1/schedules/{name}/triggers"))
            .await
            .json();
        let items = rows["items"].as_array().unwrap();
        if items
            .iter()
            .map(|row| row["count"].as_u64().unwrap())
            .sum::<u64>()
            >= count
        {
            return rows;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_preview_shows_instants_marks_and_words() {
    let town = town().await;
    let mut schedule = nightly();
    schedule["zone"] = json!("America/New_York");
    schedule["cron"] = json!("30 2 * * *");
    apply(&town, schedule.clone()).await;
    let path = "/api/v1/schedules/nightly/preview?count=2&after=2026-03-07T08:00:00Z";
    let shown = town.get(path).await.json();
    assert_eq!(shown["items"][0]["at"], "2026-03-08T07:00:00Z", "{shown}");
    assert!(shown["items"][0]["marks"][0].as_str().unwrap().contains("clock"));
    assert_eq!(shown["items"].as_array().unwrap().len(), 2);
    assert_eq!(
        (&shown["fires_a_day"], &shown["zone"]),
        (&json!("1 fire a day"), &json!("America/New_York"))
    );
    let body = json!({"cron": "30 2 * * *", "zone": "America/New_York", "count": 2, "after": "2026-03-07T08:00:00Z"});
    let alone = town.post("/api/v1/schedules/preview", body).await.json();
    assert_eq!(alone["items"], shown["items"]);
    for (body, field) in [
        (json!({"cron": "61 * * * *", "zone": "UTC"}), "cron"),
        (json!({"cron": "* * * * *"}), "zone"),
        (json!({"every": "1h", "zone": "UTC", "count": 0}), "count"),
        (json!({"every": "1h", "zone": "UTC", "after": "noon"}), "after"),
        (
            json!({"every": "1h", "zone": "UTC", "calendar": "cn"}),
            "calendar",
        ),
    ] {
        let answer = town.post("/api/v1/schedules/preview", body).await;
        assert_eq!(problems(&answer)[0].0, field);
    }
    assert_eq!(town.get("/api/v1/schedules/none/preview").await.status, 404);
}

#[tokio::test]
async fn a_pause_says_who_and_why_and_shows_what_waits() {
    let town = town().await;
    apply(&town, busy()).await;
    let before = show(&town, "busy").await;
    let paused = town
        .post(
            "/api/v1/schedules/busy/pause",
            json!({"reason": "the rooms move"}),
        )
        .await
        .json();
    assert_eq!(
        (
            &paused["state"],
            &paused["paused_by"],
            &paused["reason"],
            &paused["next_fire"]
        ),
        (
            &json!("paused"),
            &json!("api"),
            &json!("the rooms move"),
            &Value::Null
        )
    );
    let rows = missed(&town, "busy", 1).await;
    let row = &rows["items"][0];
    assert_eq!(
        (&row["outcome"], &row["reason"], &row["undecided"]),
        (&json!("skipped"), &json!("paused"), &json!(true)),
        "{rows}"
    );
    // To apply what stands already leaves the pause alone.
    assert_eq!(apply(&town, busy()).await["change"], "unchanged");
    let resumed = town.post("/api/v1/schedules/busy/resume", json!({})).await.json();
    assert_eq!(
        (&resumed["state"], &resumed["reason"]),
        (&json!("active"), &Value::Null)
    );
    assert_eq!(resumed["cursor"], before["cursor"]);
    assert_eq!(
        town.post("/api/v1/schedules/none/pause", json!({})).await.status,
        404
    );
    let mut asked = busy();
    asked["paused"] = json!(true);
    let change = apply(&town, asked).await;
    assert_eq!(
        change["fields"],
        json!([{"field": "paused", "from": false, "to": true}])
    );
    assert_eq!(show(&town, "busy").await["cursor"], before["cursor"]);
}

#[tokio::test]
async fn a_change_writes_what_the_old_definition_owed() {
    let town = town().await;
    apply(&town, busy()).await;
    town.post("/api/v1/schedules/busy/pause", json!({})).await;
    missed(&town, "busy", 1).await;
    let mut slower = busy();
    slower["every"] = json!("1h");
    let change = apply(&town, slower).await;
    assert_eq!(change["change"], "changed");
    assert!(
        change["fires"]["go"]["count"].as_u64().unwrap() > 1_000,
        "{change}"
    );
    let rows = town
        .get("/api/v1/triggers?schedule=busy&order=oldest_first")
        .await
        .json();
    let row = &rows["items"][0];
    assert_eq!(
        (&row["outcome"], &row["reason"], &row["undecided"]),
        (&json!("skipped"), &json!("paused"), &json!(false)),
        "{rows}"
    );
    assert_eq!(town.get("/api/v1/triggers").await.status, 400);
    assert_eq!(town.get("/api/v1/schedules/none/triggers").await.status, 404);
    assert_eq!(
        town.get("/api/v1/schedules/busy/triggers?cursor=x").await.status,
        400
    );
}

#[tokio::test]
async fn all_schedules_and_types_are_paused_and_resumed() {
    let town = town().await;
    apply(&town, busy()).await;
    apply(&town, nightly()).await;
    town.post("/api/v1/schedules/busy/pause", json!({})).await;
    let paused = town
        .post("/api/v1/pause", json!({"reason": "night"}))
        .await
        .json();
    assert_eq!(paused, json!({"schedules": 1, "types": 1}));
    assert_eq!(show(&town, "nightly").await["reason"], "night");
    assert_eq!(town.get("/api/v1/types/a").await.json()["paused"], true);
    let resumed = town.post("/api/v1/resume", json!({})).await.json();
    assert_eq!(resumed, json!({"schedules": 2, "types": 1}));
    assert_eq!(show(&town, "busy").await["state"], "active");
}
