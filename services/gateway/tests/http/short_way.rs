//! Over a real NATS server: the short way to a free executor, ready hints, and stop nudges.

use std::time::Duration;

use domain::Tier;
use gengfu_integration_tests::NatsServer;
use messaging::Bus;
use proto::SlotReport;
use serde_json::json;

use crate::town::{Town, parts};

const PATIENCE: Duration = Duration::from_secs(20);

async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.unwrap()
}

async fn start() -> (NatsServer, Town, Bus) {
    let nats = NatsServer::start_new().unwrap();
    let parts = parts(&nats.url()).await;
    within(parts.bus.wait_ready()).await.unwrap();
    let bus = parts.bus.clone();
    let town = Town::with_parts(parts).await;
    town.declare(json!({"name": "t", "handler": "echo", "tier": "high"}))
        .await;
    (nats, town, bus)
}

fn free(slots: u32) -> SlotReport {
    SlotReport {
        executor_id: "executor-7".into(),
        pool: "default".into(),
        slots,
        free: slots,
        ..Default::default()
    }
}

/// Reports until the gateway has seen it.
async fn report(town: &Town, bus: &Bus, slots: u32) {
    within(async {
        while town.get("/api/v1/executors").await.json()["items"][0]["free"] != slots {
            bus.report_slots(&free(slots)).await.unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn a_task_goes_straight_to_a_pool_with_free_slots() {
    let (_nats, town, bus) = start().await;
    report(&town, &bus, 1).await;
    let first = town.submit(json!({"task_type": "t"})).await;
    let second = town.submit(json!({"task_type": "t"})).await;
    assert_eq!(
        town.get(&format!("/api/v1/tasks/{first}")).await.json()["sub_state"],
        "dispatched"
    );
    assert_eq!(
        town.get(&format!("/api/v1/tasks/{second}")).await.json()["sub_state"],
        "ready"
    );
    let work = bus.work("default").unwrap();
    let message = within(async {
        loop {
            if let Some(message) = work.wait_pull(Tier::High, Duration::from_secs(1)).await.unwrap() {
                return message;
            }
        }
    })
    .await;
    let ids: Vec<_> = message
        .hint
        .items
        .iter()
        .map(|item| item.task_id.clone())
        .collect();
    let first: domain::TaskId = first.parse().unwrap();
    assert_eq!(ids, [first.as_bytes().as_slice()]);
}

#[tokio::test]
async fn without_free_slots_a_ready_hint_is_sent() {
    let (_nats, town, bus) = start().await;
    let id = town.submit(json!({"task_type": "t"})).await;
    assert_eq!(
        town.get(&format!("/api/v1/tasks/{id}")).await.json()["sub_state"],
        "ready"
    );
    let mut ready = bus.ready_hints();
    let message = within(ready.next_batch(1)).await.pop().unwrap();
    assert_eq!(
        (message.hint.pool.as_str(), message.hint.task_type.as_str()),
        ("default", "t")
    );
}

#[tokio::test]
async fn cancelling_a_running_task_nudges_its_executor() {
    let (_nats, town, bus) = start().await;
    let id = town.submit(json!({"task_type": "t"})).await;
    town.claim(&id).await;
    let mut nudges = bus.stop_nudges("executor-7").await.unwrap();
    bus.flush(PATIENCE).await.unwrap();
    town.post(&format!("/api/v1/tasks/{id}/cancel"), json!({})).await;
    let nudge = within(nudges.next()).await.unwrap();
    let id: domain::TaskId = id.parse().unwrap();
    let Some(proto::nudge::About::TaskId(about)) = nudge.about else {
        panic!("{nudge:?}")
    };
    assert_eq!(&about[..], id.as_bytes());
}
