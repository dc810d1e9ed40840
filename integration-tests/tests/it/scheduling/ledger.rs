//! The records of schedules as the API shows them, and what a test compares them with.

use std::collections::BTreeSet;

use gengfu_integration_tests::eventually;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::town::{LIMIT, Town};

/// What became of one planned instant: seconds since the epoch, `fired`, `skipped` or `missed`, and why.
pub(crate) type Ended = (i64, String, String);

/// A fire in its time.
pub(crate) fn fired(second: i64) -> Ended {
    ended(second, "fired", "")
}

/// Any other end.
pub(crate) fn ended(second: i64, outcome: &str, reason: &str) -> Ended {
    (second, outcome.to_owned(), reason.to_owned())
}

/// An instant as the API takes it.
pub(crate) fn rfc3339(second: i64) -> String {
    Timestamp::from_second(second).unwrap().to_string()
}

/// An instant of an answer, in seconds.
pub(crate) fn second(value: &Value) -> i64 {
    let text = value.as_str().unwrap_or_else(|| panic!("{value} is no instant"));
    text.parse::<Timestamp>().unwrap().as_second()
}

impl Town {
    /// Applies schedules, which must be taken.
    pub(crate) async fn schedule(&self, schedules: &[Value]) {
        for part in schedules.chunks(100) {
            let body = json!({ "schedules": part });
            let answer = self.api.post("/api/v1/apply", &body).await.unwrap();
            assert!(answer.status.is_success(), "{}", answer.text());
        }
    }

    /// A schedule as the API shows it.
    pub(crate) async fn shown(&self, name: &str) -> Value {
        let path = format!("/api/v1/schedules/{name}");
        self.api.get(&path).await.unwrap().json()
    }

    /// The records of a name, oldest first, as the API shows them.
    pub(crate) async fn records(&self, name: &str) -> Vec<Value> {
        let path = format!("/api/v1/schedules/{name}/triggers?order=oldest_first&limit=1000");
        self.api.list(&path).await.unwrap()
    }

    /// What became of each planned instant of a schedule that has one each `step` seconds.
    pub(crate) async fn ledger(&self, name: &str, step: i64) -> Vec<Ended> {
        let records = self.records(name).await;
        records.iter().flat_map(|record| instants(record, step)).collect()
    }

    /// Waits until a schedule has the record of an instant, or of one after it.
    pub(crate) async fn passed(&self, name: &str, instant: i64) {
        eventually!(within LIMIT, {
            let shown = self.shown(name).await;
            shown["cursor"].is_string() && second(&shown["cursor"]) >= instant
        });
    }

    /// Every fire of these schedules has a task of its own, and every task of the type is that of a fire.
    pub(crate) async fn check_tasks(&self, names: &[String], task_type: &str) {
        let mut named = BTreeSet::new();
        for name in names {
            for record in self.records(name).await {
                let Some(id) = record["task_id"].as_str() else {
                    assert_ne!(record["outcome"], "fired", "{record}");
                    continue;
                };
                assert!(named.insert(id.to_owned()), "two records of one task: {record}");
            }
        }
        let path = format!("/api/v1/tasks?type={task_type}&limit=1000");
        let tasks = self.api.list(&path).await.unwrap();
        let made: BTreeSet<_> = tasks
            .iter()
            .map(|task| task["task_id"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(made.len(), tasks.len(), "a task is listed twice");
        assert_eq!(named, made, "records and tasks differ");
    }
}

/// A record of consecutive instants is one of each of them.
fn instants(record: &Value, step: i64) -> Vec<Ended> {
    let first = second(&record["planned_at"]);
    let last = if record["to"].is_null() {
        first
    } else {
        second(&record["to"])
    };
    let count = record["count"].as_i64().unwrap();
    assert_eq!(last - first, (count - 1) * step, "{record}");
    let of = |key: &str| record[key].as_str().unwrap().to_owned();
    (0..count)
        .map(|n| (first + n * step, of("outcome"), of("reason")))
        .collect()
}
