//! What the town says of the batch: its tasks and their timelines, read through the HTTP API.

use std::time::Duration;

use anyhow::Context;
use futures::{StreamExt, TryStreamExt};
use jiff::Timestamp;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};

use crate::http;

const LIMIT: Duration = Duration::from_secs(30);
const PAGE: usize = 1_000;
const TIMELINES_AT_ONCE: usize = 16;

/// One task of a list.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Task {
    pub(crate) task_id: String,
    pub(crate) status: String,
    pub(crate) retry_count: u32,
    /// The payload's first 200 characters.
    pub(crate) input_info: String,
}

/// One transition of a timeline.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Step {
    pub(crate) to: String,
    #[serde(deserialize_with = "instant")]
    pub(crate) at: Timestamp,
    pub(crate) attempt: u32,
}

/// A task with all that happened to it.
#[derive(Debug, Clone)]
pub(crate) struct History {
    pub(crate) task: Task,
    pub(crate) steps: Vec<Step>,
}

#[derive(Debug, Deserialize)]
struct Page<T> {
    items: Vec<T>,
    next: Option<String>,
}

/// Reads every task of a batch and its timeline.
pub(crate) async fn read(server: &str, batch_id: &str) -> anyhow::Result<Vec<History>> {
    let client = http::client(LIMIT)?;
    let tasks = read_tasks(&client, server, batch_id).await?;
    futures::stream::iter(tasks)
        .map(|task| read_timeline(&client, server, task))
        .buffered(TIMELINES_AT_ONCE)
        .try_collect()
        .await
}

async fn read_tasks(client: &reqwest::Client, server: &str, batch_id: &str) -> anyhow::Result<Vec<Task>> {
    let first = format!("{server}/api/v1/tasks?batch={batch_id}&limit={PAGE}");
    let mut url = first.clone();
    let mut tasks = Vec::new();
    loop {
        let page: Page<Task> = get(client, &url).await?;
        tasks.extend(page.items);
        match page.next {
            Some(cursor) => url = format!("{first}&cursor={cursor}"),
            None => return Ok(tasks),
        }
    }
}

async fn read_timeline(client: &reqwest::Client, server: &str, task: Task) -> anyhow::Result<History> {
    let page: Page<Step> = get(
        client,
        &format!("{server}/api/v1/tasks/{}/timeline", task.task_id),
    )
    .await?;
    Ok(History {
        task,
        steps: page.items,
    })
}

async fn get<T: DeserializeOwned>(client: &reqwest::Client, url: &str) -> anyhow::Result<T> {
    let response = client
        .get(url)
        .send()
        .await
        .with_context(|| format!("GET {url}"))?;
    let status = response.status();
    let body = response
        .bytes()
        .await
        .with_context(|| format!("reading the answer to GET {url}"))?;
    anyhow::ensure!(
        status.is_success(),
        "GET {url} was answered {status}: {}",
        String::from_utf8_lossy(&body)
    );
    serde_json::from_slice(&body).with_context(|| format!("GET {url} was answered with something else"))
}

fn instant<'de, D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
    String::deserialize(from)?.parse().map_err(D::Error::custom)
}
