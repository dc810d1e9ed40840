//! `GET /batches/{id}/results`: each input row with what became of it.

use axum::{
    body::Body,
    extract::Path,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use domain::{Status, TaskId};
use futures::{Stream, stream};
use serde::Serialize;
use serde_json::value::RawValue;
use store::{Page, TaskFilter, TaskView};

use crate::{
    body::{Params, json},
    gate::Gate,
    page::{Items, page},
    refusal::{Refusal, RefusalShape},
    tasks::exact,
    time::Instant,
};

/// Rows read at a time where the whole batch is streamed: a payload and a result may have 256 KiB each.
const ROWS: usize = 200;

/// An input row and what became of it.
#[derive(Serialize)]
struct ResultRow<'a> {
    row: u32,
    task_id: TaskId,
    status: Status,
    attempts: u32,
    started: Option<Instant>,
    finished: Option<Instant>,
    input: Text<'a>,
    result: Text<'a>,
    /// The error's text; for a row that was rejected an object with `line`, `column`, `reason`.
    error: Text<'a>,
}

/// JSON as its exact text, other texts as strings, other bytes in base64.
#[derive(Serialize)]
#[serde(untagged)]
enum Text<'a> {
    None,
    Json(&'a RawValue),
    Plain(&'a str),
    Base64 { base64: String },
}

impl<'a> Text<'a> {
    fn of(bytes: &'a [u8]) -> Self {
        match (bytes.is_empty(), exact(bytes), std::str::from_utf8(bytes)) {
            (true, _, _) => Self::None,
            (_, Some(raw), _) => Self::Json(raw),
            (_, _, Ok(text)) => Self::Plain(text),
            (_, _, Err(_)) => Self::Base64 {
                base64: STANDARD.encode(bytes),
            },
        }
    }

    /// In a cell of a table, a JSON string stands without its quotes.
    fn cell(&self) -> String {
        match self {
            Self::None => String::new(),
            Self::Json(raw) => serde_json::from_str(raw.get()).unwrap_or_else(|_| raw.get().to_owned()),
            Self::Plain(text) => (*text).to_owned(),
            Self::Base64 { base64 } => base64.clone(),
        }
    }
}

impl<'a> From<&'a TaskView> for ResultRow<'a> {
    fn from(view: &'a TaskView) -> Self {
        let task = &view.task;
        let error = exact(view.error.as_bytes()).filter(|raw| raw.get().starts_with('{'));
        Self {
            row: task.batch_row,
            task_id: task.id,
            status: task.status,
            attempts: task.attempt,
            started: Instant::some(task.claimed_at),
            finished: Instant::some(task.finished_at),
            input: Text::of(&view.payload),
            result: Text::of(&view.result),
            error: match error {
                Some(raw) => Text::Json(raw),
                None if view.error.is_empty() => Text::None,
                None => Text::Plain(&view.error),
            },
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Jsonl,
    Csv,
}

/// Each input row with task, status, attempts, started, finished, result and error. `json` comes in pages; `jsonl` and
/// `csv` come whole. Rows come in no particular order.
#[utoipa::path(
    get, path = "/api/v1/batches/{id}/results", tag = "batches",
    params(
        ("id" = String, Path), ("format" = Option<String>, Query, description = "json, jsonl or csv"),
        ("limit" = Option<u16>, Query), ("cursor" = Option<String>, Query),
    ),
    responses((status = 200, description = "the rows"), (status = 404, body = RefusalShape, description = "none"))
)]
pub(crate) async fn results(
    gate: Gate,
    Path(text): Path<String>,
    params: Params,
) -> Result<Response, Refusal> {
    let params = params.only(&["format", "limit", "cursor"])?;
    let (batch, _) = gate.batch(&text).await?;
    let filter = TaskFilter {
        batch: Some(batch),
        ..TaskFilter::default()
    };
    match params.get("format").unwrap_or("json") {
        "json" => {
            let listed = gate.store.list(&filter, &page(&params)?).await?;
            let items: Vec<_> = listed.items.iter().map(ResultRow::from).collect();
            Ok(json(
                StatusCode::OK,
                &Items {
                    items,
                    next: listed.next,
                },
            ))
        }
        "jsonl" => Ok(whole(gate, filter, Format::Jsonl, "application/jsonl")),
        "csv" => Ok(whole(gate, filter, Format::Csv, "text/csv; charset=utf-8")),
        _ => Err(Refusal::malformed(
            "format",
            "is json, jsonl or csv",
            "give one of them",
        )),
    }
}

fn whole(gate: Gate, filter: TaskFilter, format: Format, kind: &'static str) -> Response {
    let body = Body::from_stream(pages(gate, filter, format));
    ([(header::CONTENT_TYPE, kind)], body).into_response()
}

/// One chunk of text for each page of tasks. A page that can't be read ends the stream with an error, so that the
/// client sees that it is cut.
fn pages(gate: Gate, filter: TaskFilter, format: Format) -> impl Stream<Item = Result<Bytes, store::Error>> {
    let start = Some((None, true));
    stream::try_unfold((gate, filter, start), move |(gate, filter, at)| async move {
        let Some((cursor, first)) = at else {
            return Ok(None);
        };
        let listed = gate.store.list(&filter, &Page { limit: ROWS, cursor }).await?;
        let rows = listed.items.iter().map(ResultRow::from);
        let text = match format {
            Format::Jsonl => lines(rows),
            Format::Csv => table(rows, first),
        };
        let next = listed.next.map(|cursor| (Some(cursor), false));
        Ok(Some((Bytes::from(text), (gate, filter, next))))
    })
}

fn lines<'a>(rows: impl Iterator<Item = ResultRow<'a>>) -> Vec<u8> {
    let mut text = Vec::new();
    for row in rows {
        // Nothing in it refuses to be written, and memory takes all.
        let _ = serde_json::to_writer(&mut text, &row);
        text.push(b'\n');
    }
    text
}

fn table<'a>(rows: impl Iterator<Item = ResultRow<'a>>, first: bool) -> Vec<u8> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let header = [
        "row", "task_id", "status", "attempts", "started", "finished", "input", "result", "error",
    ];
    if first {
        // Memory takes all, and every record has as many fields as the first.
        let _ = writer.write_record(header);
    }
    let at = |at: Option<Instant>| at.map_or_else(String::new, |at| at.to_string());
    for row in rows {
        let _ = writer.write_record([
            row.row.to_string(),
            row.task_id.to_string(),
            row.status.as_str().to_owned(),
            row.attempts.to_string(),
            at(row.started),
            at(row.finished),
            row.input.cell(),
            row.result.cell(),
            row.error.cell(),
        ]);
    }
    writer.into_inner().unwrap_or_default()
}
