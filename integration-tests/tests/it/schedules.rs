//! Schedules through real processes: however schedulers die, every planned instant is one record and one task.

use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use gengfu_integration_tests::eventually;
use serde_json::{Value, json};

use crate::town::{LIMIT, Town, ready};

/// Schedules that are due at the same second.
const SCHEDULES: usize = 1_000;
/// Schedules of one apply.
const APPLY: usize = 250;
/// From the first apply to the second in which all are due.
const AHEAD: Duration = Duration::from_secs(25);

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap()
}

fn name(number: usize) -> String {
    format!("due-{number}")
}

/// Declares them, in several calls, for one instant.
async fn apply(town: &Town, second: u64) {
    town.declare(&json!([{"name": "say", "handler": "echo"}])).await;
    let numbers: Vec<_> = (0..SCHEDULES).collect();
    for part in numbers.chunks(APPLY) {
        let schedules: Vec<_> = part
            .iter()
            .map(|number| {
                // Half of them fire once, the others each hour at that second.
                let mut one =
                    json!({"name": name(*number), "type": "say", "zone": "UTC", "payload": {"n": number}});
                if number % 2 == 0 {
                    one["at"] = json!(rfc3339(second));
                } else {
                    one["cron"] = json!(format!("{} {} * * * *", second % 60, second / 60 % 60));
                }
                one
            })
            .collect();
        let body = json!({ "schedules": schedules });
        let answer = town.api.post("/api/v1/apply", &body).await.unwrap();
        assert!(answer.status.is_success(), "{}", answer.text());
    }
}

/// The second as an instant in UTC.
fn rfc3339(second: u64) -> String {
    let second = i64::try_from(second).unwrap();
    jiff::Timestamp::from_second(second).unwrap().to_string()
}

async fn records(town: &Town, number: usize) -> Vec<Value> {
    let path = format!("/api/v1/schedules/{}/triggers", name(number));
    let answer = town.api.get(&path).await.unwrap();
    answer.json()["items"].as_array().cloned().unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_schedules_of_one_second_outlive_a_killed_scheduler() {
    let mut town = Town::start().await;
    let second = town.role("scheduler").start().unwrap();
    ready(&second).await;
    let due = (now() + AHEAD).as_secs();
    apply(&town, due).await;
    assert!(
        now().as_secs() < due,
        "the machine is too slow: not all were declared in time"
    );

    // The one that has the turns dies while it is at it.
    let output = town.scheduler().output();
    output.wait_for(r#""msg":"trigger""#, LIMIT).unwrap();
    town.scheduler().kill();
    let killed_at = now();
    let heir = town.role("scheduler").start().unwrap();
    ready(&heir).await;

    let mut lateness = Vec::new();
    let mut tasks: BTreeMap<String, usize> = BTreeMap::new();
    for number in 0..SCHEDULES {
        eventually!(within LIMIT, !records(&town, number).await.is_empty());
        let found = records(&town, number).await;
        assert_eq!(found.len(), 1, "{found:?}");
        let record = &found[0];
        assert_eq!(record["outcome"], "fired", "{record}");
        assert_eq!(record["planned_at"], json!(rfc3339(due)), "{record}");
        lateness.push(record["lateness_ms"].as_i64().unwrap());
        *tasks
            .entry(record["task_id"].as_str().unwrap().to_owned())
            .or_default() += 1;
    }
    assert_eq!(tasks.len(), SCHEDULES, "a task stands for two schedules");
    let all = town.api.list("/api/v1/tasks?type=say").await.unwrap();
    assert_eq!(all.len(), SCHEDULES, "a task without its record");
    lateness.sort_unstable();
    let killed_ms = killed_at.saturating_sub(Duration::from_secs(due)).as_millis();
    show(&lateness, i64::try_from(killed_ms).unwrap());
}

fn show(lateness: &[i64], killed_ms: i64) {
    let at = |share: usize| lateness[(lateness.len() - 1) * share / 100];
    let before = lateness.iter().filter(|ms| **ms <= killed_ms).count();
    eprintln!(
        "{} schedules, killed after {killed_ms} ms with {before} fired: late p50 {} p99 {} max {} ms",
        lateness.len(),
        at(50),
        at(99),
        at(100)
    );
}
