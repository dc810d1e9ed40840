//! Starting, waiting, and stopping.

use std::sync::Arc;

use gengfu_gateway::{Error, Gateway};
use gengfu_integration_tests::Api;
use runtime::Shutdown;
use serde_json::json;
use store::{Clock, Model};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::town::{PARTITIONS, Town, config, parts, problems};

#[tokio::test]
async fn another_address_than_loopback_is_refused_in_one_sentence() {
    let mut config = config();
    config.listen = "0.0.0.0:0".into();
    let error = Gateway::bind(&config, parts("nats://127.0.0.1:1").await)
        .await
        .unwrap_err();
    assert!(matches!(error, Error::NotLoopback(_)));
    assert!(error.to_string().contains("0.0.0.0:0") && !error.to_string().contains('\n'));
}

#[tokio::test]
async fn without_a_store_the_api_answers_503_and_the_process_lives() {
    let gateway = Gateway::bind(&config(), parts("nats://127.0.0.1:1").await)
        .await
        .unwrap();
    let api = Api::new(&format!("http://{}", gateway.address()));
    let shutdown = Shutdown::new();
    let running = tokio::spawn(gateway.run(std::future::pending(), shutdown.clone()));
    let answer = api
        .post("/api/v1/tasks", &json!({"task_type": "t"}))
        .await
        .unwrap();
    assert_eq!(answer.status, 503);
    assert!(answer.text().contains("readyz"), "{}", answer.text());
    problems(&answer);
    assert_eq!(api.get("/livez").await.unwrap().status, 200);
    let ready = api.get("/readyz").await.unwrap();
    assert_eq!(ready.status, 503);
    assert!(
        ready.text().contains("redis") && ready.text().contains("nats"),
        "{}",
        ready.text()
    );
    shutdown.trigger();
    running.await.unwrap().unwrap();
    assert!(api.get("/livez").await.is_err());
}

#[tokio::test]
async fn who_was_told_that_all_is_well_finds_the_gate_open() {
    let parts = parts("nats://127.0.0.1:1").await;
    let health = parts.health.clone();
    let gateway = Gateway::bind(&config(), parts).await.unwrap();
    let api = Api::new(&format!("http://{}", gateway.address()));
    // The store has answered, and the gateway has not come to it yet.
    health.dependency("redis").ready();
    health.dependency("nats").ready();
    let (sender, opened) = tokio::sync::oneshot::channel::<Arc<dyn store::PlanStore>>();
    let shutdown = Shutdown::new();
    let running = tokio::spawn(gateway.run(async { opened.await.ok() }, shutdown.clone()));
    let asked = tokio::spawn({
        let api = api.clone();
        async move { api.get("/api/v1/types").await.unwrap() }
    });
    for _ in 0..5 {
        assert!(api.is_ready().await);
    }
    let store = Model::new(PARTITIONS, Clock::real());
    assert!(sender.send(Arc::new(store)).is_ok());
    assert_eq!(asked.await.unwrap().status, 200);
    shutdown.trigger();
    running.await.unwrap().unwrap();
}

#[tokio::test]
async fn without_nats_tasks_are_accepted_and_readyz_says_what_is_away() {
    let town = Town::start().await;
    town.declare(json!({"name": "t", "handler": "echo"})).await;
    town.submit(json!({"task_type": "t"})).await;
    let away: Vec<_> = town.health.not_ready().into_iter().map(|not| not.name).collect();
    assert!(away.contains(&"nats"), "{away:?}");
    let metrics = town.get("/metrics").await.text();
    assert!(
        metrics.contains(r#"gengfu_submitted_total{type="t",source="http"} 1"#),
        "{metrics}"
    );
    let described = town.get("/api/openapi.json").await.json();
    assert!(described["openapi"].as_str().unwrap().starts_with("3.1"));
    assert!(town.address.ip().is_loopback());
}

#[tokio::test]
async fn what_a_foreign_page_made_a_browser_send_is_refused() {
    let town = Town::start().await;
    for (headers, status) in [
        ("Host: evil.example", "403"),
        ("Host: localhost\r\nOrigin: http://evil.example", "403"),
        ("Host: localhost", "200"),
    ] {
        let mut stream = TcpStream::connect(town.address).await.unwrap();
        let request = format!("GET /api/v1/types HTTP/1.1\r\n{headers}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")),
            "{headers}: {answer}"
        );
    }
}
