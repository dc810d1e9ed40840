//! Schedules and calendars: declared, listed and shown.

use serde_json::{Value, json};

use crate::town::{Town, problems};

/// A gateway that knows the type `a`.
pub(crate) async fn town() -> Town {
    let town = Town::start().await;
    town.declare(json!({"name": "a", "handler": "echo"})).await;
    town
}

pub(crate) fn nightly() -> Value {
    json!({"name": "nightly", "type": "a", "cron": "0 2 * * *", "zone": "Asia/Shanghai", "payload": {"n": 1}})
}

pub(crate) async fn apply(town: &Town, schedule: Value) -> Value {
    let answer = town.post("/api/v1/apply", json!({"schedules": [schedule]})).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["changes"][0].clone()
}

pub(crate) async fn show(town: &Town, name: &str) -> Value {
    town.get(&format!("/api/v1/schedules/{name}")).await.json()
}

#[tokio::test]
async fn apply_creates_leaves_and_changes_a_schedule_and_tells_its_fires() {
    let town = town().await;
    let body = json!({"schedules": [nightly()], "dry_run": true});
    let dry = town.post("/api/v1/apply", body).await.json();
    assert_eq!(dry["changes"][0]["change"], "created");
    assert_eq!(town.get("/api/v1/schedules/nightly").await.status, 404);
    let created = apply(&town, nightly()).await;
    assert_eq!(
        (&created["kind"], &created["change"]),
        (&json!("schedule"), &json!("created"))
    );
    assert_eq!(created["fires"]["come"]["count"], 30);
    let first = show(&town, "nightly").await;
    assert_eq!(
        (&first["state"], &first["version"]),
        (&json!("active"), &json!(1))
    );
    assert_eq!(first["next_fire"], created["fires"]["come"]["first"][0]);
    // The same in other words.
    let mut same = nightly();
    same["misfire"] = json!("fire_once");
    assert_eq!(apply(&town, same).await["change"], "unchanged");
    let second = show(&town, "nightly").await;
    assert_eq!(
        (&second["cursor"], &second["incarnation"]),
        (&first["cursor"], &first["incarnation"])
    );
    let mut later = nightly();
    later["cron"] = json!("0 2,3 * * *");
    let changed = apply(&town, later).await;
    assert_eq!(changed["fields"][0]["field"], "cron");
    let counts = ["go", "come", "stay"].map(|side| changed["fires"][side]["count"].as_u64().unwrap());
    assert_eq!(counts, [0, 30, 30]);
    let third = show(&town, "nightly").await;
    assert_eq!(
        (&third["version"], &third["incarnation"]),
        (&json!(2), &first["incarnation"])
    );
    assert_eq!(
        third["describe"].as_str().unwrap(),
        "at 02:00 and 03:00 every day, Asia/Shanghai"
    );
}

#[tokio::test]
async fn what_is_wrong_is_told_whole_and_nothing_is_applied() {
    let town = town().await;
    let good = json!({"name": "b", "handler": "echo", "input_schema": {"required": ["n"]}});
    for (wrong, field, reason) in [
        (json!({"cron": "0 2 * *"}), "cron", ""),
        (json!({"zone": "Mars/Olympus"}), "zone", "Mars"),
        (json!({"corn": "* * * * *"}), "corn", "not known"),
        (json!({"type": "none"}), "type", "there is no type"),
        (json!({"type": "b", "payload": {}}), "payload.n", "is missing"),
        (
            json!({"cron": null, "at": "2020-01-01T00:00:00Z"}),
            "at",
            "never fires again",
        ),
        (
            json!({"end": "2020-01-01T00:00:00Z"}),
            "cron",
            "never fires again",
        ),
        (json!({"calendar": "none"}), "calendar", "none"),
        (json!({"payload": {"d": "{{tomorrow}}"}}), "payload", "tomorrow"),
    ] {
        let mut schedule = nightly();
        for (key, value) in wrong.as_object().unwrap() {
            match value.is_null() {
                true => drop(schedule.as_object_mut().unwrap().remove(key)),
                false => schedule[key] = value.clone(),
            }
        }
        let body = json!({"types": [good], "schedules": [{"name": "fine", "type": "b", "every": "1h", "zone": "UTC", "payload": {"n": 1}}, schedule]});
        let answer = town.post("/api/v1/apply", body).await;
        let told = problems(&answer);
        assert_eq!(answer.status, 422, "{wrong}: {told:?}");
        let place = format!("schedules[1] (nightly).{field}");
        assert!(
            told.iter().any(|(at, why)| *at == place && why.contains(reason)),
            "{wrong}: {told:?}"
        );
    }
    assert_eq!(town.get("/api/v1/types/b").await.status, 404);
    assert_eq!(town.get("/api/v1/schedules").await.json()["items"], json!([]));
    let twice = json!({"schedules": [nightly(), nightly()]});
    let told = problems(&town.post("/api/v1/apply", twice).await);
    assert_eq!(told[0].0, "schedules[1] (nightly)");
}

#[tokio::test]
async fn a_type_may_come_in_the_same_request() {
    let town = Town::start().await;
    let body = json!({"types": [{"name": "a", "handler": "echo"}], "schedules": [nightly()]});
    let answer = town.post("/api/v1/apply", body).await.json();
    assert_eq!(answer["changes"].as_array().unwrap().len(), 2, "{answer}");
    assert_eq!(show(&town, "nightly").await["type"], "a");
}

#[tokio::test]
async fn lists_go_by_name_over_all_partitions_page_by_page() {
    let town = town().await;
    let names: Vec<_> = (0..50).map(|n| format!("s-{n:02}")).collect();
    let schedules: Vec<_> = names
        .iter()
        .map(|name| json!({"name": name, "type": "a", "every": "1h", "zone": "UTC", "paused": name.ends_with('7')}))
        .collect();
    let answer = town.post("/api/v1/apply", json!({"schedules": schedules})).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let mut seen = Vec::new();
    let mut path = "/api/v1/schedules?limit=7".to_owned();
    loop {
        let page = town.get(&path).await.json();
        let items = page["items"].as_array().unwrap();
        assert!(items.len() <= 7);
        seen.extend(items.iter().map(|item| item["name"].as_str().unwrap().to_owned()));
        match page["next"].as_str() {
            Some(next) => path = format!("/api/v1/schedules?limit=7&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(seen, names);
    let listed = |path: &'static str| {
        let api = &town.api;
        async move { api.list(path).await.unwrap().len() }
    };
    assert_eq!(listed("/api/v1/schedules?state=paused&limit=1000").await, 5);
    assert_eq!(listed("/api/v1/schedules?prefix=s-1&limit=1000").await, 10);
    assert_eq!(listed("/api/v1/schedules?type=none").await, 0);
    for bad in ["state=gone", "cursor=%20", "limit=0", "colour=red"] {
        assert_eq!(
            town.get(&format!("/api/v1/schedules?{bad}")).await.status,
            400,
            "{bad}"
        );
    }
}

#[tokio::test]
async fn prune_deletes_what_is_not_named_and_a_new_one_of_the_name_is_another() {
    let town = town().await;
    apply(&town, nightly()).await;
    let first = show(&town, "nightly").await["incarnation"].as_u64().unwrap();
    let refused = town.post("/api/v1/apply?prune=true", json!({"types": []})).await;
    assert_eq!(problems(&refused)[0].0, "prune");
    let other = json!({"name": "other", "type": "a", "every": "1h", "zone": "UTC"});
    let pruned = town
        .post("/api/v1/apply?prune=true", json!({"schedules": [other]}))
        .await
        .json();
    let gone = &pruned["changes"][1];
    assert_eq!(
        (&gone["name"], &gone["change"]),
        (&json!("nightly"), &json!("deleted"))
    );
    assert_eq!(gone["fires"]["go"]["count"], 30);
    assert_eq!(town.get("/api/v1/schedules/nightly").await.status, 404);
    apply(&town, nightly()).await;
    assert!(show(&town, "nightly").await["incarnation"].as_u64().unwrap() > first);
    let deleted = town.api.delete("/api/v1/schedules/nightly").await.unwrap();
    assert_eq!(deleted.status, 200);
    assert_eq!(
        town.api.delete("/api/v1/schedules/nightly").await.unwrap().status,
        404
    );
}

#[tokio::test]
async fn a_calendar_that_changes_moves_the_next_fire_of_its_schedules() {
    let town = town().await;
    let calendar = |off: Value| json!({"name": "cn", "years": "2000-2099", "weekend": [], "off": off});
    let mut daily = nightly();
    daily["calendar"] = json!("cn");
    let body = json!({"calendars": [calendar(json!([]))], "schedules": [daily]});
    let answer = town.post("/api/v1/apply", body).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let before = show(&town, "nightly").await;
    let next = before["next_fire"].as_str().unwrap();
    // 02:00 in Shanghai is the evening before in UTC.
    let day: jiff::Timestamp = next.parse().unwrap();
    let day = (day + jiff::Span::new().hours(8)).to_string();
    let body = json!({"calendars": [calendar(json!([&day[..10]]))]});
    let answer = town.post("/api/v1/apply", body).await.json();
    assert_eq!(answer["changes"][0]["change"], "changed");
    assert_eq!(
        answer["changes"][1]["fires"]["go"]["first"],
        json!([next]),
        "{answer}"
    );
    let after = show(&town, "nightly").await;
    assert!(after["next_fire"].as_str().unwrap() > next);
    assert_eq!(after["cursor"], before["cursor"]);
    let listed = town.get("/api/v1/calendars").await.json();
    assert_eq!(
        (&listed["items"][0]["name"], &listed["items"][0]["revision"]),
        (&json!("cn"), &json!(2))
    );
}
