//! Submits the rows, some hundred a request and some requests at a time: memory stays the same for any file.

use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use futures::{StreamExt, stream};
use indicatif::ProgressBar;
use rows::{Fault, Reader, Row};
use serde_json::{Value, json};

use super::{Plan, open};
use crate::client::{Client, is_passing};

/// Most rows of a request.
const ROWS_MAX: usize = 500;
/// Most bytes of a request, about; a row has at most twice a mebibyte.
const BYTES_MAX: usize = 4 * 1024 * 1024;
/// Requests at a time.
const AT_ONCE: usize = 4;
/// How often a request is tried where the gateway can't be reached or takes nothing now: some minutes.
const TRIES: u32 = 60;
/// Longest wait between two tries.
const WAIT_MAX: Duration = Duration::from_secs(5);
/// Bytes kept of a row that is too large to be stored whole.
const ROW_KEPT: usize = 4 * 1024;

/// What was stored.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) submitted: u64,
    pub(crate) rejected: u64,
}

/// A request: its rows, and each as it goes out.
#[derive(Debug, Default)]
struct Request {
    rows: Vec<Row>,
    items: Vec<String>,
    bytes: usize,
}

pub(crate) async fn send(plan: &Plan, client: &Client, bar: &ProgressBar) -> anyhow::Result<Sent> {
    let mut rows = plan.rows()?;
    let requests = stream::iter(std::iter::from_fn(|| request(plan, &mut rows).transpose()));
    let mut answers = requests
        .map(|request| async move { store(plan, client, request?).await })
        .buffer_unordered(AT_ONCE);
    let mut sent = Sent::default();
    while let Some(answer) = answers.next().await {
        let stored =
            answer.with_context(|| format!("the batch is not whole; go on with --resume {}", plan.batch))?;
        sent.submitted += stored.submitted;
        sent.rejected += stored.rejected;
        bar.inc(stored.submitted + stored.rejected);
    }
    Ok(sent)
}

/// The next request, or none at the end of the file.
fn request(plan: &Plan, rows: &mut Reader<'_>) -> anyhow::Result<Option<Request>> {
    let mut request = Request::default();
    while request.rows.len() < ROWS_MAX && request.bytes < BYTES_MAX {
        let Some(row) = rows.next().transpose().map_err(open::told)? else {
            break;
        };
        request.push(plan, row);
    }
    Ok((!request.rows.is_empty()).then_some(request))
}

impl Request {
    fn push(&mut self, plan: &Plan, row: Row) {
        let item = item(plan, &row);
        self.bytes += item.len();
        self.items.push(item);
        self.rows.push(row);
    }

    fn body(&self, plan: &Plan) -> Vec<u8> {
        let defaults = json!({"task_type": plan.known.spec().name, "batch_id": plan.batch});
        format!(r#"{{"defaults":{defaults},"tasks":[{}]}}"#, self.items.join(",")).into_bytes()
    }
}

/// One task: the payload's text goes in as it is.
fn item(plan: &Plan, row: &Row) -> String {
    let (batch, line) = (plan.batch, row.line);
    let place = format!(r#""idempotency_key":"{batch}/{line}","batch_row":{line}"#);
    match &row.content {
        Ok(payload) => format!(r#"{{{place},"payload":{payload}}}"#),
        Err(fault) => {
            let rejected = json!({"line": line, "column": fault.column, "reason": fault.reason});
            let payload = Value::from(fault.row.as_str());
            format!(r#"{{{place},"payload":{payload},"rejected":{rejected}}}"#)
        }
    }
}

/// Stores every row; what the gateway itself finds wrong with one is stored as a rejected row.
async fn store(plan: &Plan, client: &Client, request: Request) -> anyhow::Result<Sent> {
    let items = post(plan, client, &request).await?;
    let (mut sent, mut again) = (Sent::default(), Request::default());
    for (row, item) in request.rows.into_iter().zip(items) {
        match item["code"].as_u64() {
            None if row.content.is_ok() => sent.submitted += 1,
            None => sent.rejected += 1,
            Some(409) => bail!("line {} was submitted before with another content", row.line),
            Some(_) => again.push(plan, rejected(row, &item)?),
        }
    }
    if !again.rows.is_empty() {
        let items = post(plan, client, &again).await?;
        for (row, item) in again.rows.iter().zip(items) {
            if item["code"].is_number() {
                bail!(
                    "line {} can't be stored: {}",
                    row.line,
                    item["detail"].as_str().unwrap_or_default()
                );
            }
            sent.rejected += 1;
        }
    }
    Ok(sent)
}

/// The row with the gateway's reason: a payload over its limit, a schema that changed in between.
fn rejected(row: Row, item: &Value) -> anyhow::Result<Row> {
    let problem = &item["errors"][0];
    let field = problem["field"].as_str().unwrap_or_default();
    if !field.starts_with("payload") {
        bail!(
            "line {} is refused: {}",
            row.line,
            item["detail"].as_str().unwrap_or_default()
        );
    }
    let (text, reason) = match row.content {
        Ok(payload) => (payload, problem["reason"].as_str().unwrap_or_default().to_owned()),
        // It was a rejected row already, with a text over the limit.
        Err(fault) => (fault.row, fault.reason),
    };
    let column = field.strip_prefix("payload.").map(str::to_owned);
    let kept = text[..text.floor_char_boundary(ROW_KEPT)].to_owned();
    Ok(Row {
        line: row.line,
        content: Err(Fault {
            column,
            reason,
            row: kept,
        }),
    })
}

/// The answers of all rows. Every row has a key, so that a request can be sent again.
async fn post(plan: &Plan, client: &Client, request: &Request) -> anyhow::Result<Vec<Value>> {
    let body = request.body(plan);
    let mut tries = 0;
    loop {
        match client.post("/tasks:batch", body.clone()).await {
            Ok(mut answer) => {
                let Value::Array(items) = answer["items"].take() else {
                    bail!("the gateway answered no items")
                };
                if items.len() != request.rows.len() {
                    return Err(anyhow!(
                        "the gateway answered {} items of {}",
                        items.len(),
                        request.rows.len()
                    ));
                }
                if !items.iter().any(|item| item["code"] == json!(503)) {
                    return Ok(items);
                }
                if tries >= TRIES {
                    bail!("the store takes nothing now");
                }
            }
            Err(error) if is_passing(&error) && tries < TRIES => {}
            Err(error) => return Err(error),
        }
        tries += 1;
        tokio::time::sleep((Duration::from_millis(100) * tries).min(WAIT_MAX)).await;
    }
}
