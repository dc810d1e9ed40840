//! A role as a process: it says where it listens, becomes ready, drains, dies, and refuses bad settings.

use std::time::Duration;

use gengfu_integration_tests::{Gengfu, NatsServer, RedisServer, eventually};

const LIMIT: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_role_becomes_ready_and_ends_in_order() {
    let (redis, nats) = (
        RedisServer::start_new().unwrap(),
        NatsServer::start_new().unwrap(),
    );
    let mut gateway = Gengfu::role("gateway", &redis.url(), &nats.url())
        .start()
        .unwrap();
    let api = gateway.api().unwrap();
    eventually!(within LIMIT, api.is_ready().await);
    let listed = gateway
        .cli()
        .unwrap()
        .run(&["task", "list", "--json"])
        .await
        .unwrap();
    assert_eq!(
        (listed.code, listed.json()["items"].as_array().map(Vec::len)),
        (Some(0), Some(0)),
        "{listed:?}"
    );
    assert_eq!(
        gateway.terminate(LIMIT).unwrap().code(),
        Some(0),
        "{}",
        gateway.output().tail()
    );
}

#[tokio::test]
async fn a_gateway_answers_from_the_first_moment_and_says_what_it_waits_for() {
    let (mut redis, nats) = (
        RedisServer::start_new().unwrap(),
        NatsServer::start_new().unwrap(),
    );
    redis.stop().unwrap();
    let mut gateway = Gengfu::role("gateway", &redis.url(), &nats.url())
        .start()
        .unwrap();
    let api = gateway.api().unwrap();
    let readiness = eventually!(within LIMIT, {
        let answer = api.get("/readyz").await.unwrap();
        answer.text().contains("Connection refused").then_some(answer)
    });
    assert_eq!(readiness.status, 503, "{}", readiness.text());
    assert_eq!(api.get("/api/v1/tasks").await.unwrap().status, 503);
    redis.start().unwrap();
    eventually!(within LIMIT, api.is_ready().await);
    assert_eq!(api.get("/api/v1/tasks").await.unwrap().status, 200);
    // It also ends while it waits.
    redis.stop().unwrap();
    assert_eq!(gateway.terminate(LIMIT).unwrap().code(), Some(0));
}

#[tokio::test]
async fn a_killed_role_is_gone() {
    let (redis, nats) = (
        RedisServer::start_new().unwrap(),
        NatsServer::start_new().unwrap(),
    );
    let mut gateway = Gengfu::role("gateway", &redis.url(), &nats.url())
        .start()
        .unwrap();
    let api = gateway.api().unwrap();
    eventually!(within LIMIT, api.is_ready().await);
    gateway.kill();
    assert!(api.get("/livez").await.is_err());
    assert!(!gateway.is_running());
}

#[test]
fn a_wrong_setting_ends_the_start_with_one_sentence() {
    let gateway = Gengfu::role("gateway", "redis://127.0.0.1:1", "nats://127.0.0.1:1");
    let mut gateway = gateway.set("executor.lease", "\"soon\"").start().unwrap();
    assert_eq!(gateway.wait(LIMIT).unwrap().code(), Some(2));
    let line = gateway.output().wait_for("executor.lease", LIMIT).unwrap();
    assert_eq!(gateway.output().lines(), [line]);
}
