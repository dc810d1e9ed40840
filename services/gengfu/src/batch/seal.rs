//! Says that all rows are stored, and which task follows when they have ended.

use std::time::Duration;

use anyhow::Context;
use serde_json::json;

use super::Plan;
use crate::client::{Client, is_passing};

/// How often it is tried where the gateway can't be reached or takes nothing now: some minutes.
const TRIES: u32 = 60;
/// Longest wait between two tries.
const WAIT_MAX: Duration = Duration::from_secs(5);

pub(crate) async fn seal(plan: &Plan, client: &Client, rows: u64, then: &str) -> anyhow::Result<()> {
    let path = format!("/batches/{}/seal", plan.batch);
    let body = json!({"total": rows, "then": then}).to_string().into_bytes();
    let mut tries = 0;
    loop {
        match client.post(&path, body.clone()).await {
            Ok(_) => return Ok(()),
            Err(error) if is_passing(&error) && tries < TRIES => {}
            Err(error) => {
                let batch = plan.batch;
                return Err(error).with_context(|| {
                    format!("all rows are stored, but nothing follows them yet; go on with --resume {batch}")
                });
            }
        }
        tries += 1;
        tokio::time::sleep((Duration::from_millis(100) * tries).min(WAIT_MAX)).await;
    }
}
