//! Redis or NATS away, at the start and later: the services wait, say so on `/readyz` and in one log line, and go on
//! when both are there.

use gengfu_integration_tests::{Api, Gengfu, eventually};
use serde_json::{Value, json};

use crate::town::{LIMIT, Town};

/// How long an outage lasts at least: a line each second would be seen.
const OUTAGE_SECONDS: u64 = 3;

/// Every process of the town, by role.
struct All<'a>(Vec<&'a Gengfu>);

impl All<'_> {
    /// Waits until each says on `/readyz` that these are away, and has said so for a while.
    async fn wait_for(&self, names: &[&str]) {
        for process in &self.0 {
            let api = process.api().unwrap();
            eventually!(within LIMIT, away(&api, names).await);
        }
    }

    async fn are_ready(&self) {
        for process in &self.0 {
            let api = process.api().unwrap();
            eventually!(within LIMIT, api.is_ready().await);
        }
    }

    /// Where the output of each is now.
    fn marks(&self) -> Vec<usize> {
        self.0.iter().map(|process| process.output().mark()).collect()
    }

    /// What each process said of its dependencies since: `(ready or not ready, dependency)`, in order. Anything else
    /// that is worth a warning is a line too many.
    fn said_since(&self, marks: &[usize]) -> Vec<Vec<(String, String)>> {
        let said = |(process, mark): (&&Gengfu, &usize)| {
            let lines = process.output().lines().into_iter().skip(*mark);
            lines.filter_map(|line| said(&line)).collect()
        };
        self.0.iter().zip(marks).map(said).collect()
    }
}

/// A line about a dependency, or a warning that should not be there.
fn said(line: &str) -> Option<(String, String)> {
    let line: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}"));
    let text = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
    let of_dependency = matches!(line["msg"].as_str(), Some("ready" | "not ready"));
    let loud = matches!(line["level"].as_str(), Some("warn" | "error"));
    (of_dependency || loud).then(|| (text("msg"), text("dependency")))
}

async fn away(api: &Api, names: &[&str]) -> Result<(), String> {
    let answer = api.get("/readyz").await.map_err(|error| error.to_string())?;
    let body = answer.json();
    let listed = body["not_ready"].as_array().cloned().unwrap_or_default();
    let long = listed.iter().all(|entry| {
        let reason = entry["reason"].as_str().unwrap_or_default();
        entry["seconds"].as_u64() >= Some(OUTAGE_SECONDS) && !reason.is_empty() && reason != "starting"
    });
    let found: Vec<_> = listed.iter().filter_map(|entry| entry["name"].as_str()).collect();
    let right = answer.status.as_u16() == 503 && found == names && long;
    if right { Ok(()) } else { Err(answer.text()) }
}

async fn is_503(api: &Api) {
    let body = json!({ "task_type": "echo", "payload": 1 });
    for answer in [
        api.post("/api/v1/tasks", &body).await.unwrap(),
        api.get("/api/v1/tasks").await.unwrap(),
    ] {
        let problem = answer.json();
        assert_eq!(
            (answer.status.as_u16(), &problem["status"]),
            (503, &json!(503)),
            "{}",
            answer.text()
        );
        assert!(!problem["detail"].as_str().unwrap().is_empty(), "{problem}");
    }
}

async fn runs_a_task(town: &Town) {
    let id = town.submit("echo", &json!({ "hello": 1 })).await;
    eventually!(within LIMIT, town.task(&id).await["status"] == "success");
}

/// What every process must have said, in any order.
#[track_caller]
fn each_said(said: Vec<Vec<(String, String)>>, expected: &[(&str, &str)]) {
    let mut expected: Vec<_> = expected
        .iter()
        .map(|(msg, name)| ((*msg).to_owned(), (*name).to_owned()))
        .collect();
    expected.sort();
    for (process, mut said) in said.into_iter().enumerate() {
        said.sort();
        assert_eq!(said, expected, "process {process}");
    }
}

#[tokio::test]
async fn services_wait_for_what_is_away_at_the_start_and_later() {
    let mut town = Town::start_without_servers();
    let executor = town.executor("executor", 4);
    let before = vec![0; 5];
    let all = |town: &Town| -> Vec<usize> { All(town.processes(&executor)).marks() };

    All(town.processes(&executor)).wait_for(&["nats", "redis"]).await;
    is_503(&town.api).await;
    each_said(
        All(town.processes(&executor)).said_since(&before),
        &[("not ready", "nats"), ("not ready", "redis")],
    );

    let marks = all(&town);
    town.nats.start().unwrap();
    town.redis.start().unwrap();
    All(town.processes(&executor)).are_ready().await;
    each_said(
        All(town.processes(&executor)).said_since(&marks),
        &[("ready", "nats"), ("ready", "redis")],
    );
    town.declare(&json!([{ "name": "echo", "handler": "echo" }]))
        .await;
    runs_a_task(&town).await;

    let marks = all(&town);
    town.redis.stop().unwrap();
    All(town.processes(&executor)).wait_for(&["redis"]).await;
    is_503(&town.api).await;
    each_said(
        All(town.processes(&executor)).said_since(&marks),
        &[("not ready", "redis")],
    );
    town.redis.start().unwrap();
    All(town.processes(&executor)).are_ready().await;
    runs_a_task(&town).await;
    each_said(
        All(town.processes(&executor)).said_since(&marks),
        &[("not ready", "redis"), ("ready", "redis")],
    );

    // Without NATS tasks are accepted, and run when it is back.
    let marks = all(&town);
    town.nats.stop().unwrap();
    All(town.processes(&executor)).wait_for(&["nats"]).await;
    let waiting = town.submit("echo", &json!(2)).await;
    each_said(
        All(town.processes(&executor)).said_since(&marks),
        &[("not ready", "nats")],
    );
    town.nats.start().unwrap();
    All(town.processes(&executor)).are_ready().await;
    eventually!(within LIMIT, town.task(&waiting).await["status"] == "success");
    runs_a_task(&town).await;
    each_said(
        All(town.processes(&executor)).said_since(&marks),
        &[("not ready", "nats"), ("ready", "nats")],
    );
}

#[tokio::test]
async fn a_store_that_cannot_write_is_not_ready_and_says_why() {
    let town = Town::start().await;
    let executor = town.executor("executor", 4);
    let processes = || All(town.processes(&executor));
    processes().are_ready().await;
    town.declare(&json!([{ "name": "echo", "handler": "echo" }]))
        .await;
    runs_a_task(&town).await;

    let marks = processes().marks();
    town.redis.fill_disk().unwrap();
    processes().wait_for(&["redis"]).await;
    let ready = town.api.get("/readyz").await.unwrap();
    assert!(
        ready.text().contains("can't write to its disk"),
        "{}",
        ready.text()
    );
    let refused = town
        .api
        .post("/api/v1/tasks", &json!({ "task_type": "echo", "payload": 1 }))
        .await
        .unwrap();
    assert_eq!(refused.status.as_u16(), 503, "{}", refused.text());
    assert!(
        refused.text().contains("can't write to its disk"),
        "{}",
        refused.text()
    );
    each_said(processes().said_since(&marks), &[("not ready", "redis")]);

    town.redis.free_disk().unwrap();
    processes().are_ready().await;
    runs_a_task(&town).await;
    each_said(
        processes().said_since(&marks),
        &[("not ready", "redis"), ("ready", "redis")],
    );
}
