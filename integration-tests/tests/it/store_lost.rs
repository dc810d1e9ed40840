//! A Redis that is emptied while the town works: every role stops taking anything, says so and says what helps, and a
//! role that starts then takes it for no new town.

use std::time::Instant;

use gengfu_integration_tests::{Api, Gengfu, RedisServer, Reply, eventually};
use serde_json::{Value, json};

use crate::town::{LIMIT, Town, ready};

const TASKS: usize = 5_000;
const TASKS_A_REQUEST: usize = 1_000;

/// Submits so many tasks of a type, and gives their ids.
pub(crate) async fn submit_many(api: &Api, task_type: &str, tasks: usize) -> Vec<String> {
    let mut ids = Vec::with_capacity(tasks);
    let rows: Vec<_> = (0..tasks).collect();
    for rows in rows.chunks(TASKS_A_REQUEST) {
        let task = |row: &usize| json!({ "payload": { "ms": 100, "row": row }, "idempotency_key": format!("row-{row}") });
        let tasks: Vec<_> = rows.iter().map(task).collect();
        let body = json!({ "tasks": tasks, "defaults": { "task_type": task_type } });
        let answer = api.post("/api/v1/tasks:batch", &body).await.unwrap();
        let items = answer.json();
        let items = items["items"]
            .as_array()
            .unwrap_or_else(|| panic!("{}", answer.text()));
        ids.extend(
            items
                .iter()
                .map(|item| item["task_id"].as_str().unwrap().to_owned()),
        );
    }
    ids
}

/// How many tasks have this status.
pub(crate) async fn count(api: &Api, status: &str) -> u64 {
    let stats = api.get("/api/v1/stats").await.unwrap().json();
    stats["tasks"][status].as_u64().unwrap_or(0)
}

/// Empties a server.
pub(crate) fn flush(redis: &RedisServer) {
    redis.connect().unwrap().call(&["FLUSHALL"]).unwrap();
}

/// That a process says on `/readyz` that the store is lost, and what helps.
async fn says_lost(process: &Gengfu) -> Result<(), String> {
    let api = process.api().map_err(|error| error.to_string())?;
    let answer = api.get("/readyz").await.map_err(|error| error.to_string())?;
    let text = answer.text();
    let said = text.contains("store_lost") && text.contains("gengfu restore");
    if answer.status.as_u16() == 503 && said {
        Ok(())
    } else {
        Err(text)
    }
}

fn tasks_in(redis: &RedisServer) -> usize {
    match redis.connect().unwrap().call(&["KEYS", "{gf:*}:t:*"]).unwrap() {
        Reply::List(keys) => keys.len(),
        other => panic!("{other:?}"),
    }
}

async fn is_refused(api: &Api) {
    let body = json!({ "task_type": "nap", "payload": { "ms": 1 } });
    let answer = api.post("/api/v1/tasks", &body).await.unwrap();
    let problem: Value = answer.json();
    let detail = problem["detail"].as_str().unwrap_or_default();
    assert_eq!(
        (answer.status.as_u16(), &problem["status"]),
        (503, &json!(503)),
        "{problem}"
    );
    assert!(
        detail.contains("store_lost") && detail.contains("gengfu restore"),
        "{problem}"
    );
}

/// A town in whose store many tasks are waiting, running and done, with a schedule that fires each second.
pub(crate) async fn busy_town() -> (Town, Gengfu, Vec<String>) {
    let town = Town::start_with(&[("executor.lease", "\"3s\"")]).await;
    town.declare(&json!([{ "name": "nap", "handler": "sleep" }, { "name": "tick", "handler": "echo" }]))
        .await;
    let tick = json!({ "name": "tick", "type": "tick", "every": "1s", "zone": "UTC", "overlap": "allow" });
    let answer = town
        .api
        .post("/api/v1/apply", &json!({ "schedules": [tick] }))
        .await;
    let answer = answer.unwrap();
    assert!(answer.status.is_success(), "{}", answer.text());
    let executor = town.executor("executor", 32);
    ready(&executor).await;
    let ids = submit_many(&town.api, "nap", TASKS).await;
    eventually!(within LIMIT, count(&town.api, "success").await >= 500);
    (town, executor, ids)
}

#[tokio::test]
async fn a_store_that_is_emptied_is_not_ready_and_takes_nothing() {
    let (mut town, executor, _) = busy_town().await;
    flush(&town.redis);
    let began = Instant::now();
    is_refused(&town.api).await;
    for process in town.processes(&executor) {
        eventually!(within LIMIT, says_lost(process).await);
    }
    eprintln!(
        "every role says store_lost {:.2} s after the FLUSHALL",
        began.elapsed().as_secs_f64()
    );
    let listed = town.api.get("/api/v1/tasks").await.unwrap();
    assert!(
        listed.text().contains("store_lost"),
        "an empty list would be a lie: {}",
        listed.text()
    );

    // Who starts now finds an empty store beside a stream that knows better.
    town.scheduler().kill();
    let scheduler = town.role("scheduler").start().unwrap();
    eventually!(within LIMIT, says_lost(&scheduler).await);
    is_refused(&town.api).await;
    assert_eq!(tasks_in(&town.redis), 0, "nothing new was accepted");
}
