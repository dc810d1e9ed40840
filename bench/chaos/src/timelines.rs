//! What the town says of each task.

use std::collections::HashMap;

use anyhow::{Context, Result};
use gengfu_integration_tests::Api;
use serde_json::Value;
use tokio::task::JoinSet;

use crate::load::Accepted;

/// Requests at a time.
const READERS: usize = 8;

/// One transition.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) version: u64,
    pub(crate) to: String,
    pub(crate) attempt: u64,
    pub(crate) node: String,
    /// When, in milliseconds since the epoch.
    pub(crate) at: i64,
    pub(crate) reason: String,
}

/// The timelines by task; one that the town does not know has none.
pub(crate) async fn read(api: &Api, accepted: &[Accepted]) -> Result<HashMap<String, Vec<Step>>> {
    let ids: Vec<String> = accepted.iter().map(|one| one.id.clone()).collect();
    let mut reading = JoinSet::new();
    for ids in ids.chunks(ids.len().div_ceil(READERS).max(1)) {
        reading.spawn(read_some(api.clone(), ids.to_vec()));
    }
    let mut histories = HashMap::new();
    while let Some(some) = reading.join_next().await {
        histories.extend(some??);
    }
    Ok(histories)
}

async fn read_some(api: Api, ids: Vec<String>) -> Result<Vec<(String, Vec<Step>)>> {
    let mut histories = Vec::with_capacity(ids.len());
    for id in ids {
        let answer = api.get(&format!("/api/v1/tasks/{id}/timeline")).await?;
        if answer.status.as_u16() == 404 {
            continue;
        }
        let body = answer.json();
        let items = body["items"]
            .as_array()
            .with_context(|| format!("{id}: {}", answer.text()))?;
        histories.push((id, items.iter().map(step).collect()));
    }
    Ok(histories)
}

fn step(item: &Value) -> Step {
    let text = |key: &str| item[key].as_str().unwrap_or_default().to_owned();
    Step {
        version: item["version"].as_u64().unwrap_or(0),
        to: text("to"),
        attempt: item["attempt"].as_u64().unwrap_or(0),
        node: text("node"),
        at: text("at").parse().map_or(0, jiff::Timestamp::as_millisecond),
        reason: text("reason"),
    }
}
