//! After ninety minutes without a scheduler: what fires is what each misfire policy says, to the instant.

use gengfu_integration_tests::eventually;
use serde_json::{Value, json};

use crate::{
    scheduling::{
        clock::StoreClock,
        ledger::{Ended, ended, fired, rfc3339, second},
    },
    town::{LIMIT, Town, ready},
};

const MINUTE: i64 = 60;
/// 2027-03-01T08:00:00Z.
const BEGIN: i64 = 1_803_888_000;
/// The instant that still fires in its time, and the last one of the outage.
const FIRST: i64 = BEGIN + MINUTE;
const LAST: i64 = BEGIN + 91 * MINUTE;
/// How long after an instant the clock is set: far from the next, and within a misfire's grace.
const PAST: i64 = 20;

fn schedules() -> Vec<(&'static str, Value)> {
    vec![
        ("skip", json!("skip")),
        ("once", json!("fire_once")),
        ("unsaid", Value::Null),
        ("catch", json!({"policy": "catch_up", "max": 70, "within": "2h"})),
        (
            "within",
            json!({"policy": "catch_up", "max": 100, "within": "30m"}),
        ),
        ("graced", json!({"policy": "skip", "grace": "10m"})),
    ]
}

/// What DESIGN and `docs/schedules.md` say of the minutes of the outage, which is decided about 20 s to 59 s after LAST.
fn expected(name: &str) -> Vec<Ended> {
    let minutes = |from: i64, to: i64| (from..=to).step_by(60);
    let missed = |from, to, why: &str| {
        let why = format!("misfire {why}");
        minutes(from, to)
            .map(|at| ended(at, "missed", &why))
            .collect::<Vec<_>>()
    };
    let late = |from, to, why: &str| {
        let why = format!("misfire {why}");
        minutes(from, to)
            .map(|at| ended(at, "fired", &why))
            .collect::<Vec<_>>()
    };
    let back = |minutes: i64| LAST - minutes * MINUTE;
    let first = FIRST + MINUTE;
    let mut all = vec![fired(FIRST)];
    all.extend(match name {
        "skip" => missed(first, back(1), "skip"),
        "once" | "unsaid" => [
            missed(first, back(2), "fire_once"),
            late(back(1), back(1), "fire_once"),
        ]
        .concat(),
        "catch" => [
            missed(first, back(71), "catch_up"),
            late(back(70), back(1), "catch_up"),
        ]
        .concat(),
        "within" => [
            missed(first, back(30), "catch_up"),
            late(back(29), back(1), "catch_up"),
        ]
        .concat(),
        "graced" => {
            let young = minutes(back(9), back(1)).map(fired).collect();
            [missed(first, back(10), "skip"), young].concat()
        }
        _ => panic!("{name}"),
    });
    // Younger than the grace, and the first one after.
    all.extend([fired(LAST), fired(LAST + MINUTE)]);
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn what_fires_after_ninety_minutes_is_what_the_policy_says() {
    let mut town = Town::start().await;
    let clock = StoreClock::start_at(&town, BEGIN + PAST).await;
    town.declare(&json!([{"name": "say", "handler": "echo"}])).await;
    let declared = schedules().into_iter().map(|(name, misfire)| {
        let mut schedule = json!({"name": name, "type": "say", "zone": "Asia/Shanghai", "cron": "* * * * *"});
        if !misfire.is_null() {
            schedule["misfire"] = misfire;
        }
        schedule
    });
    town.schedule(&declared.collect::<Vec<_>>()).await;
    clock.set(FIRST + PAST).await;
    for (name, _) in schedules() {
        town.passed(name, FIRST).await;
    }

    town.scheduler().kill();
    clock.set(LAST + PAST).await;
    let heir = town.role("scheduler").start().unwrap();
    ready(&heir).await;
    for (name, _) in schedules() {
        town.passed(name, LAST).await;
    }
    clock.set(LAST + MINUTE + PAST).await;

    let mut names = Vec::new();
    for (name, _) in schedules() {
        town.passed(name, LAST + MINUTE).await;
        let records = town.records(name).await;
        let last = records
            .iter()
            .find(|record| record["planned_at"] == rfc3339(LAST));
        let decided = second(&last.unwrap()["actual_at"]);
        assert!(
            decided < LAST + MINUTE,
            "the machine is too slow: decided at {decided}"
        );
        assert_eq!(town.ledger(name, MINUTE).await, expected(name), "{name}");
        names.push(name.to_owned());
    }
    town.check_tasks(&names, "say").await;
    // It waits for nothing more.
    eventually!(within LIMIT, town.shown("catch").await["next_fire"] == rfc3339(LAST + 2 * MINUTE));
}
