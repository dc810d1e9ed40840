//! Schedules that are changed, left alone, deleted and made anew while instants of them are due.

use gengfu_integration_tests::eventually;
use serde_json::{Value, json};

use crate::{
    scheduling::{
        clock::{StoreClock, machine_now},
        ledger::{ended, fired, rfc3339},
    },
    town::{LIMIT, Town, ready},
};

const MINUTE: i64 = 60;
/// 2027-03-01T08:00:00Z.
const BEGIN: i64 = 1_803_888_000;
/// How long after an instant the clock is set: within a misfire's grace.
const PAST: i64 = 20;

fn each(name: &str, cron: &str) -> Value {
    json!({"name": name, "type": "say", "zone": "UTC", "cron": cron, "misfire": "catch_up"})
}

/// Applies one definition; what became of it.
async fn apply(town: &Town, schedule: &Value) -> String {
    let body = json!({ "schedules": [schedule] });
    let answer = town.api.post("/api/v1/apply", &body).await.unwrap();
    assert!(answer.status.is_success(), "{}", answer.text());
    let changes = answer.json()["changes"].as_array().cloned().unwrap_or_default();
    changes.last().unwrap()["change"].as_str().unwrap().to_owned()
}

async fn delete(town: &Town, name: &str) {
    let answer = town
        .api
        .delete(&format!("/api/v1/schedules/{name}"))
        .await
        .unwrap();
    assert!(answer.status.is_success(), "{}", answer.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_while_due_end_as_the_design_says() {
    let mut town = Town::start().await;
    let clock = StoreClock::start_at(&town, BEGIN + PAST).await;
    town.declare(&json!([{"name": "say", "handler": "echo"}])).await;
    let names = ["same", "edited", "deleted", "again"];
    for name in names {
        assert_eq!(apply(&town, &each(name, "* * * * *")).await, "created");
    }
    let minute = |number: i64| BEGIN + number * MINUTE;
    clock.set(minute(1) + PAST).await;
    for name in names {
        town.passed(name, minute(1)).await;
    }
    let first = town.shown("again").await["incarnation"].as_u64().unwrap();

    // Six instants are due, and nobody fires them yet.
    town.scheduler().kill();
    clock.set(minute(7) + PAST).await;
    assert_eq!(apply(&town, &each("same", "* * * * *")).await, "unchanged");
    assert_eq!(apply(&town, &each("edited", "*/2 * * * *")).await, "changed");
    delete(&town, "deleted").await;
    delete(&town, "again").await;
    assert_eq!(apply(&town, &each("again", "* * * * *")).await, "created");
    let heir = town.role("scheduler").start().unwrap();
    ready(&heir).await;
    town.passed("same", minute(7)).await;
    clock.set(minute(8) + PAST).await;
    for name in ["same", "edited", "again"] {
        town.passed(name, minute(8)).await;
    }

    let caught_up = |number| ended(minute(number), "fired", "misfire catch_up");
    let mut same = vec![fired(minute(1))];
    same.extend((2..=6).map(caught_up));
    same.extend([fired(minute(7)), fired(minute(8))]);
    assert_eq!(town.ledger("same", MINUTE).await, same);
    let mut edited = vec![fired(minute(1))];
    edited.extend((2..=7).map(|number| ended(minute(number), "skipped", "changed")));
    edited.push(fired(minute(8)));
    assert_eq!(town.ledger("edited", MINUTE).await, edited);
    assert_eq!(town.ledger("deleted", MINUTE).await, [fired(minute(1))]);
    assert_eq!(
        town.ledger("again", MINUTE).await,
        [fired(minute(1)), fired(minute(8))]
    );
    let records = town.records("again").await;
    let incarnations = records
        .iter()
        .map(|record| record["incarnation"].as_u64().unwrap());
    let incarnations: Vec<_> = incarnations.collect();
    assert!(
        incarnations[0] == first && incarnations[1] > first,
        "{incarnations:?}"
    );
    town.check_tasks(&names.map(str::to_owned), "say").await;
}

/// Seconds in which a schedule of each second is changed all the time.
const SPAN: i64 = 12;

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_that_is_changed_all_the_time_owes_no_instant_and_doubles_none() {
    let town = Town::start().await;
    town.declare(&json!([{"name": "say", "handler": "echo"}])).await;
    let start = machine_now() + 3;
    let end = start + SPAN;
    let version = |number: i64| {
        json!({
            "name": "restless", "type": "say", "zone": "UTC", "every": "1s", "payload": {"version": number},
            "start": rfc3339(start), "end": rfc3339(end),
        })
    };
    let mut changes = 0;
    // The last instants are left alone: a definition without any to come is refused.
    while machine_now() < end - 2 {
        let schedule = version(changes);
        let how = apply(&town, &schedule).await;
        assert_eq!(how, if changes == 0 { "created" } else { "changed" });
        assert_eq!(apply(&town, &schedule).await, "unchanged");
        changes += 1;
    }
    assert!(changes > SPAN, "changed only {changes} times");
    eventually!(within LIMIT, town.shown("restless").await["state"] == "finished");
    let ledger = town.ledger("restless", 1).await;
    let instants: Vec<_> = ledger.iter().map(|(at, _, _)| *at).collect();
    assert_eq!(instants, (start..end).collect::<Vec<_>>());
    let owed = ledger
        .iter()
        .filter(|(_, outcome, reason)| (outcome.as_str(), reason.as_str()) == ("skipped", "changed"));
    let fires = ledger
        .iter()
        .filter(|(_, outcome, reason)| (outcome.as_str(), reason.as_str()) == ("fired", ""));
    let (owed, fires) = (owed.count(), fires.count());
    assert_eq!(owed + fires, ledger.len(), "{ledger:?}");
    eprintln!("{changes} changes in {SPAN} s: {fires} instants fired, {owed} skipped");
    town.check_tasks(&["restless".to_owned()], "say").await;
}
