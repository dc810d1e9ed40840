//! `/audit`: the proof of the invariants, told line by line while it goes on.

use std::convert::Infallible;

use ::audit::{Audit, Report};
use axum::{
    Router,
    body::Body,
    http::header,
    response::{IntoResponse, Response},
    routing::get,
};
use bytes::Bytes;
use futures::stream;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::{
    body::Params,
    gate::{Entrance, Gate},
    refusal::{Refusal, RefusalShape},
    time::moment,
};

/// Lines that wait for a client; every partition makes one.
const LINES: usize = 2_048;

#[derive(utoipa::OpenApi)]
#[openapi(paths(audit))]
pub(crate) struct Api;

/// The routes, below `/api/v1`.
pub(crate) fn routes() -> Router<Entrance> {
    Router::new().route("/audit", get(audit))
}

/// Reads store, outbox and events, and proves I1 to I10 as far as they can be read.
#[utoipa::path(
    get, path = "/api/v1/audit", tag = "town",
    params(("since" = Option<String>, Query, description = "how long ago (`24h`), a day, or an instant")),
    responses(
        (status = 200, description = "JSON Lines: `{\"partition\", \"of\"}` while it goes on, at last `{\"report\"}` or `{\"error\"}`"),
        (status = 400, body = RefusalShape, description = "since is no time"),
        (status = 409, body = RefusalShape, description = "another audit goes on"),
    )
)]
async fn audit(gate: Gate, params: Params) -> Result<Response, Refusal> {
    let params = params.only(&["since"])?;
    let now = gate.store.ping().await?;
    let since = params.read("since", |text| moment(text, now))?;
    let busy = || {
        Refusal::conflict(
            "audit",
            "another one goes on in this gateway",
            "wait until it has ended",
        )
    };
    let turn = gate.auditing.clone().try_acquire_owned().map_err(|_| busy())?;
    let (lines, waiting) = mpsc::channel(LINES);
    let audit = Audit {
        store: gate.store.clone(),
        bus: gate.bus.clone(),
        since,
    };
    tokio::spawn(async move {
        // Whoever asked may go away; nobody wants to know then.
        tokio::select! {
            () = tell(&audit, &lines) => {}
            () = lines.closed() => {}
        }
        drop(turn);
    });
    let body = stream::unfold(waiting, |mut waiting| async move {
        let line = waiting.recv().await?;
        Some((Ok::<_, Infallible>(line), waiting))
    });
    let kind = [(header::CONTENT_TYPE, "application/x-ndjson")];
    Ok((kind, Body::from_stream(body)).into_response())
}

async fn tell(audit: &Audit, lines: &mpsc::Sender<Bytes>) {
    let progress = |partition, of| {
        // A client that reads slowly misses some of these, and nothing else.
        let _ = lines.try_send(line(&json!({"partition": partition, "of": of})));
    };
    let last = match ::audit::run(audit, progress).await {
        Ok(report) => json!({"report": shown(&report)}),
        Err(error) => json!({"error": chain(&error)}),
    };
    let _ = lines.send(line(&last)).await;
}

fn shown(report: &Report) -> Value {
    let mut value = serde_json::to_value(report).unwrap_or_default();
    value["clean"] = json!(report.is_clean());
    value["not_readable"] = json!(["I8", "I11", "I12"]);
    value
}

fn line(value: &Value) -> Bytes {
    Bytes::from(format!("{value}\n"))
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        text = format!("{text}: {source}");
        next = source.source();
    }
    text
}
