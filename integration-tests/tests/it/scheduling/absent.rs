//! The scan for due schedules does nothing: people are told in time, and nothing is lost.

use std::collections::BTreeMap;

use gengfu_integration_tests::eventually;
use serde_json::{Value, json};

use crate::{
    scheduling::{
        clock::machine_now,
        ledger::{fired, rfc3339, second},
        webhook::Webhook,
    },
    town::{LIMIT, Town, ready},
};

/// `scheduler.absence_grace`, in seconds.
const GRACE: i64 = 5;
/// How long after the grace people know.
const BOUND: i64 = 5;
/// From the declaration to the first instant.
const AHEAD: i64 = 10;

/// Names and steps of schedules of which each has an instant at `start`.
fn schedules(start: i64) -> Vec<(&'static str, Vec<i64>, Value)> {
    let one = |name, when: Value| {
        let mut schedule = json!({"name": name, "type": "say", "zone": "UTC"});
        schedule
            .as_object_mut()
            .unwrap()
            .extend(when.as_object().unwrap().clone());
        schedule
    };
    let ends = json!({"every": "3s", "start": rfc3339(start), "end": rfc3339(start + 13)});
    let spread = json!({"at": rfc3339(start + 1)});
    vec![
        ("once", vec![start], one("once", json!({"at": rfc3339(start)}))),
        (
            "often",
            (start..start + 13).step_by(3).collect(),
            one("often", ends),
        ),
        ("later", vec![start + 1], one("later", spread)),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn people_are_told_within_grace_and_five_seconds_when_the_scan_is_off() {
    let mut webhook = Webhook::start().await;
    let [url, secret] = webhook.settings();
    let grace = format!("\"{GRACE}s\"");
    let settings = [
        ("scheduler.absence_grace", grace.as_str()),
        (url.0, url.1.as_str()),
        (secret.0, secret.1.as_str()),
    ];
    let mut town = Town::start_with(&settings).await;
    town.scheduler().kill();
    let mut blind = town.role("scheduler").fault("off:fire").start().unwrap();
    ready(&blind).await;
    town.declare(&json!([{"name": "say", "handler": "echo"}])).await;
    let start = machine_now() + AHEAD;
    let all = schedules(start);
    town.schedule(
        &all.iter()
            .map(|(_, _, schedule)| schedule.clone())
            .collect::<Vec<_>>(),
    )
    .await;
    town.schedule(&[json!({
        "name": "paused", "type": "say", "zone": "UTC", "every": "1s", "paused": true,
    })])
    .await;
    assert!(
        machine_now() < start,
        "the machine is too slow to declare them in time"
    );

    let mut left: BTreeMap<&str, Vec<i64>> = all.iter().map(|(name, at, _)| (*name, at.clone())).collect();
    let absent = left.values().map(Vec::len).sum::<usize>();
    while left.values().any(|instants| !instants.is_empty()) {
        let notice = webhook.next().await;
        let body = &notice.body;
        assert_eq!(body["kind"], "absent_trigger", "{body}");
        let name = body["schedule"].as_str().unwrap();
        let instants = left
            .get_mut(name)
            .unwrap_or_else(|| panic!("none is missing: {body}"));
        let count = usize::try_from(body["count"].as_u64().unwrap()).unwrap();
        assert!(count >= 1 && count <= instants.len(), "told twice: {body}");
        assert_eq!(second(&body["planned_at"]), instants[0], "{body}");
        for instant in instants.drain(..count) {
            let late = notice.came_at - (instant + GRACE) * 1_000;
            assert!(
                (0..=BOUND * 1_000).contains(&late),
                "{late} ms after the grace: {body}"
            );
            eprintln!("{name}: told {late} ms after the grace");
        }
        let line = format!(r#""kind":"absent_trigger","schedule":"{name}""#);
        blind.output().wait_for(&line, LIMIT).unwrap();
    }
    let metrics = blind.api().unwrap().get("/metrics").await.unwrap().text();
    let counted = format!("gengfu_absent_triggers_total {absent}\n");
    assert!(metrics.contains(&counted), "{metrics}");

    // Nothing is lost: a scheduler that looks fires what was missing, and nobody is told again.
    blind.kill();
    let heir = town.role("scheduler").start().unwrap();
    for (name, instants, _) in &all {
        eventually!(within LIMIT, town.shown(name).await["state"] == "finished");
        let expected: Vec<_> = instants.iter().copied().map(fired).collect();
        assert_eq!(town.ledger(name, 3).await, expected, "{name}");
    }
    assert!(webhook.is_empty(), "told of what has its record");
    drop(heir);
}
