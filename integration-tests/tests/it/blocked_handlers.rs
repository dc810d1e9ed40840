//! Handlers that block their thread for three leases lose none: heartbeats have a thread of their own.

use gengfu_integration_tests::{eventually, target_dir};
use serde_json::json;

use crate::town::{LIMIT, Town, ready};

const LEASE: &str = "\"2s\"";
/// Three leases.
const RUN_MS: u64 = 6_000;

#[tokio::test]
async fn two_of_four_handlers_may_block_their_thread_for_three_leases() {
    let town = Town::start_with(&[("executor.lease", LEASE)]).await;
    town.declare(&json!([
        { "name": "nap", "handler": "sleep" },
        { "name": "block", "handler": "block" },
    ]))
    .await;
    // Two threads run the handlers, so that with both blocked nothing of the runtime goes on.
    let executor = town
        .role("executor")
        .program(target_dir().join("examples/blocking_executor"))
        .set("executor.concurrency", 4)
        .env("TOKIO_WORKER_THREADS", "2")
        .start()
        .unwrap();
    ready(&executor).await;
    let nap = json!({ "ms": RUN_MS });
    let mut tasks = vec![town.submit("nap", &nap).await, town.submit("nap", &nap).await];
    // All four shall be under a lease while the threads are blocked.
    for id in &tasks {
        eventually!(within LIMIT, town.task(id).await["status"] == "running");
    }
    tasks.push(town.submit("block", &json!(RUN_MS)).await);
    tasks.push(town.submit("block", &json!(RUN_MS)).await);
    for id in &tasks {
        eventually!(within LIMIT, town.task(id).await["status"] == "success");
        let done = town.task(id).await;
        assert_eq!(
            (done["attempt"].as_u64(), done["losses"].as_u64()),
            (Some(1), Some(0)),
            "{done}"
        );
        assert_eq!(done["version"], 3, "accepted, running, success: {done}");
    }
}
