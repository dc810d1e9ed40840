//! Why a task stands where it stands.

use gengfu_integration_tests::{NatsServer, eventually};
use messaging::Bus;
use proto::SlotReport;
use serde_json::{Value, json};
use store::{Clock, WatchStore};

use crate::town::{Town, problems};

/// A town whose NATS is there, with a type `t`.
async fn town() -> (Town, NatsServer, Bus) {
    let nats = NatsServer::start_new().unwrap();
    let config = messaging::Config {
        url: nats.url(),
        ..messaging::Config::default()
    };
    let bus = Bus::connect(config).await.unwrap();
    bus.wait_ready().await.unwrap();
    let town = Town::with_nats(&nats.url()).await;
    town.declare(json!({"name": "t", "handler": "echo"})).await;
    eventually!(town.get("/readyz").await.status == 200);
    (town, nats, bus)
}

async fn submit(town: &Town) -> String {
    town.submit(json!({"task_type": "t", "payload": 1})).await
}

async fn explain(town: &Town, id: &str) -> Value {
    let answer = town.get(&format!("/api/v1/tasks/{id}/explain")).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

/// The explanation, whose cause and some of whose words are known.
async fn cause(town: &Town, id: &str, word: &str, said: &str) -> Value {
    let why = explain(town, id).await;
    assert_eq!(why["cause"], word, "{why}");
    assert!(why["text"].as_str().unwrap().contains(said), "{why}");
    why
}

#[tokio::test]
async fn what_waits_for_an_executor_says_for_which() {
    let (town, _nats, bus) = town().await;
    let id = submit(&town).await;
    let why = cause(&town, &id, "no_executor", "no executor of pool default is alive").await;
    assert!(
        why["remedy"].as_str().unwrap().contains("gengfu executor"),
        "{why}"
    );
    assert_eq!(why["evidence"]["pool"]["executors"], 0);
    let report = |free| SlotReport {
        executor_id: "executor-7".into(),
        pool: "default".into(),
        slots: 8,
        free,
        ..SlotReport::default()
    };
    eventually!({
        bus.report_slots(&report(0)).await.unwrap();
        explain(&town, &id).await["cause"] == "no_slot"
    });
    eventually!({
        bus.report_slots(&report(0)).await.unwrap();
        explain(&town, &id).await["text"]
            .as_str()
            .unwrap()
            .contains("all 8 slots of pool default are busy")
    });
    eventually!({
        bus.report_slots(&report(3)).await.unwrap();
        explain(&town, &id).await["cause"] == "ready"
    });
}

#[tokio::test]
async fn while_nats_is_away_nothing_is_said_of_executors() {
    let town = Town::start().await;
    town.declare(json!({"name": "t", "handler": "echo"})).await;
    let id = submit(&town).await;
    cause(&town, &id, "nats_away", "NATS is away").await;
}

#[tokio::test]
async fn a_pause_names_who_why_and_since_when() {
    let town = Town::start().await;
    town.declare(json!({"name": "t", "handler": "echo"})).await;
    let id = submit(&town).await;
    let because = json!({"reason": "the endpoint is down"});
    town.post("/api/v1/types/t/pause", because).await;
    let why = cause(&town, &id, "type_paused", "by api since 2").await;
    assert_eq!(why["evidence"]["reason"], "the endpoint is down");
    assert!(why["evidence"]["since"].as_str().unwrap().ends_with('Z'));
    assert_eq!(why["remedy"], "gengfu type resume t");
    town.post("/api/v1/types/t/resume", json!({})).await;
    cause(&town, &id, "nats_away", "").await;
    town.post("/api/v1/pause", json!({"reason": "moving house"}))
        .await;
    cause(&town, &id, "all_paused", "everything is paused, by api").await;
    assert_eq!(town.store.pauses().await.unwrap().len(), 1);
    town.post("/api/v1/resume", json!({})).await;
    assert!(town.store.pauses().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_time_to_come_is_told_with_what_is_left() {
    let town = Town::start().await;
    town.declare(json!({"name": "t", "handler": "echo"})).await;
    let id = town
        .submit(json!({"task_type": "t", "payload": 1, "delay": "3h"}))
        .await;
    let why = cause(&town, &id, "delayed", "it waits for its time").await;
    let left = why["evidence"]["due_in_ms"].as_i64().unwrap();
    assert!((10_000_000..=10_800_000).contains(&left), "{why}");
}

#[tokio::test]
async fn a_run_is_told_with_executor_and_heartbeat_and_an_end_with_its_cause() {
    let town = Town::start().await;
    town.declare(json!({"name": "t", "handler": "echo"})).await;
    let id = submit(&town).await;
    town.claim(&id).await;
    let why = cause(&town, &id, "running", "it runs on executor-7").await;
    assert!(why["evidence"]["lease_left_ms"].as_i64().unwrap() > 0);
    let cancel = json!({"reason": "not wanted"});
    let answer = town.post(&format!("/api/v1/tasks/{id}/cancel"), cancel).await;
    assert_eq!(answer.status, 202);
    cause(
        &town,
        &id,
        "stopping",
        "it was cancelled, and its run is being ended",
    )
    .await;

    let dead = submit(&town).await;
    town.kill(&dead).await;
    let why = cause(&town, &dead, "deterministic", "http_422 (the endpoint said no)").await;
    assert!(
        why["remedy"]
            .as_str()
            .unwrap()
            .contains(&format!("gengfu task retry {dead}"))
    );

    let done = submit(&town).await;
    town.succeed(&done, b"r", b"").await;
    cause(&town, &done, "success", "in attempt 1").await;

    let gone = submit(&town).await;
    let answer = town
        .post(
            &format!("/api/v1/tasks/{gone}/cancel"),
            json!({"reason": "a mistake"}),
        )
        .await;
    assert_eq!(answer.status, 200);
    let why = cause(&town, &gone, "cancelled", "by api").await;
    assert_eq!(why["evidence"]["reason"], "a mistake");
}

#[tokio::test]
async fn a_run_beyond_the_usual_is_called_stuck() {
    let town = Town::start().await;
    let clock: &Clock = town.store.clock();
    town.declare(json!({"name": "t", "handler": "echo", "run_timeout": "1h"}))
        .await;
    for _ in 0..100 {
        let id = submit(&town).await;
        town.succeed(&id, b"r", b"").await;
    }
    town.record_outbox().await;
    let id = submit(&town).await;
    town.claim(&id).await;
    let why = explain(&town, &id).await;
    assert_eq!(
        (&why["cause"], &why["evidence"]["runs_known"]),
        (&json!("running"), &json!(100))
    );
    // Longer than any lease would be too much: it is looked at before that ends.
    clock.advance(15_000);
    let why = cause(&town, &id, "stuck", "99 of 100 runs of its type end within").await;
    assert_eq!(why["evidence"]["stuck_after_ms"], 10_000);
    assert!(why["remedy"].as_str().unwrap().contains("gengfu task reset"));
    clock.advance(60_000);
    cause(&town, &id, "lease_expired", "the executor is silent").await;
}

#[tokio::test]
async fn what_is_not_there_can_not_be_explained() {
    let town = Town::start().await;
    let none = town
        .get("/api/v1/tasks/0192f0c1-2d3e-7abc-8def-0123456789ab/explain")
        .await;
    assert_eq!(none.status, 404);
    let bad = town.get("/api/v1/tasks/xyz/explain").await;
    assert_eq!(
        (bad.status.as_u16(), problems(&bad)[0].0.as_str()),
        (400, "task_id")
    );
}
