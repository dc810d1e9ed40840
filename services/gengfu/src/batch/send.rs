//! Submits the rows, some hundred a request and some requests at a time: memory stays the same for any file.

use std::time::Duration;

use anyhow::{Context, bail};
use futures::{StreamExt, stream};
use indicatif::ProgressBar;
use serde_json::{Value, json};

use super::Plan;
use super::rows::{Row, Rows};
use crate::client::Client;

/// Most rows of a request.
const ROWS_MAX: usize = 500;
/// Most bytes of a request, about.
const BYTES_MAX: usize = 4 * 1024 * 1024;
/// Requests at a time.
const AT_ONCE: usize = 4;
/// How often a request is tried where the gateway can't be reached or takes nothing now.
const TRIES: u32 = 30;

/// What was stored.
#[derive(Debug, Default)]
pub(crate) struct Sent {
    pub(crate) submitted: u64,
    pub(crate) rejected: u64,
}

/// A request and its rows.
struct Request {
    body: Vec<u8>,
    submitted: u64,
    rejected: u64,
}

pub(crate) async fn send(plan: &Plan, client: &Client, bar: &ProgressBar) -> anyhow::Result<Sent> {
    let mut rows = Rows::open(plan)?;
    let requests = stream::iter(std::iter::from_fn(|| request(plan, &mut rows).transpose()));
    let mut answers = requests
        .map(|request| async move { post(client, request?).await })
        .buffer_unordered(AT_ONCE);
    let mut sent = Sent::default();
    while let Some(answer) = answers.next().await {
        let request = answer.with_context(|| format!("go on with --resume {}", plan.batch))?;
        sent.submitted += request.submitted;
        sent.rejected += request.rejected;
        bar.inc(request.submitted + request.rejected);
    }
    Ok(sent)
}

/// The next request, or none at the end of the file.
fn request(plan: &Plan, rows: &mut Rows<'_>) -> anyhow::Result<Option<Request>> {
    let mut request = Request {
        body: b"{\"tasks\":[".to_vec(),
        submitted: 0,
        rejected: 0,
    };
    while request.submitted + request.rejected < ROWS_MAX as u64 && request.body.len() < BYTES_MAX {
        let Some(row) = rows.next().transpose()? else {
            break;
        };
        if request.submitted + request.rejected > 0 {
            request.body.push(b',');
        }
        match row.content {
            Ok(_) => request.submitted += 1,
            Err(_) => request.rejected += 1,
        }
        request.body.extend_from_slice(item(plan, row).as_bytes());
    }
    if request.submitted + request.rejected == 0 {
        return Ok(None);
    }
    let defaults = json!({"task_type": plan.known.spec().name, "batch_id": plan.batch});
    request
        .body
        .extend_from_slice(format!("],\"defaults\":{defaults}}}").as_bytes());
    Ok(Some(request))
}

/// One task: the payload's text goes in as it is.
fn item(plan: &Plan, row: Row) -> String {
    let key = format!("{}/{}", plan.batch, row.line);
    let line = row.line;
    match row.content {
        Ok(payload) => format!(r#"{{"idempotency_key":"{key}","batch_row":{line},"payload":{payload}}}"#),
        Err(fault) => {
            let rejected = json!({"line": line, "column": fault.column, "reason": fault.reason});
            let payload = Value::from(fault.row);
            format!(
                r#"{{"idempotency_key":"{key}","batch_row":{line},"payload":{payload},"rejected":{rejected}}}"#
            )
        }
    }
}

/// Every row has a key, so that a request can be sent again.
async fn post(client: &Client, request: Request) -> anyhow::Result<Request> {
    let mut tries = 0;
    let answer = loop {
        match client.post("/tasks:batch", request.body.clone()).await {
            Ok(answer) if passing(&answer) && tries < TRIES => {}
            Ok(answer) => break answer,
            Err(error) if tries >= TRIES => return Err(error),
            Err(_) => {}
        }
        tries += 1;
        tokio::time::sleep(Duration::from_millis(100) * tries).await;
    };
    let refused = answer["items"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|item| item["code"].is_number());
    if let Some(refused) = refused {
        bail!(
            "a row was refused: {}",
            refused["detail"].as_str().unwrap_or_default()
        );
    }
    Ok(request)
}

fn passing(answer: &Value) -> bool {
    answer["items"]
        .as_array()
        .into_iter()
        .flatten()
        .any(|item| item["code"] == json!(503))
}
