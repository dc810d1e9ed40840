//! A collector in the test receives the spans of one task by OTLP, and finds one tree.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use axum::{Router, body::Bytes, extract::State, http::StatusCode, routing::post};
use domain::TaskId;
use gengfu_telemetry::{Spans, Stage, TaskSpan, parse_traceparent, span_id, traceparent};
use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest,
    trace::v1::{ResourceSpans, Span},
};
use prost::Message;

const CALLER: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

#[derive(Clone, Default)]
struct Collector(Arc<Mutex<Vec<ResourceSpans>>>);

impl Collector {
    /// Starts on a free port and gives its address; it ends with the test's runtime.
    async fn start(&self) -> Result<String> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let address = format!("http://{}", listener.local_addr()?);
        let router = Router::new()
            .route("/v1/traces", post(receive))
            .with_state(self.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Ok(address)
    }

    fn received(&self) -> Vec<ResourceSpans> {
        self.0.lock().map(|received| received.clone()).unwrap_or_default()
    }

    fn spans(&self) -> Vec<Span> {
        let scopes = self
            .received()
            .into_iter()
            .flat_map(|resource| resource.scope_spans);
        scopes.flat_map(|scope| scope.spans).collect()
    }
}

async fn receive(State(collector): State<Collector>, body: Bytes) -> StatusCode {
    let Ok(request) = ExportTraceServiceRequest::decode(body) else {
        return StatusCode::BAD_REQUEST;
    };
    match collector.0.lock() {
        Ok(mut received) => received.extend(request.resource_spans),
        Err(_) => return StatusCode::INTERNAL_SERVER_ERROR,
    }
    StatusCode::OK
}

/// A task that fails once, as its services would tell it, the last word first: order means nothing.
fn retried(task: TaskId) -> Result<Vec<TaskSpan>> {
    let at = |ms: i64| 1_700_000_000_000_000 + ms * 1_000;
    let span = |stage, attempt, from, to| TaskSpan::new(task, stage, attempt, at(from), at(to));
    let mut spans = vec![
        span(Stage::Submit, 0, 0, 5)
            .linked(Some(parse_traceparent(CALLER)?))
            .with("gengfu.tier", "high"),
        span(Stage::Admit, 0, 1, 4),
    ];
    for (attempt, from) in [(1, 10), (2, 100)] {
        let run = span(Stage::Run, attempt, from + 5, from + 50);
        spans.extend([
            span(Stage::Dispatch, attempt, from, from + 2),
            span(Stage::Claim, attempt, from + 2, from + 5),
            if attempt == 1 {
                run.failed("HTTP 503, password=hunter2")
            } else {
                run
            },
            span(Stage::Record, attempt, from + 51, from + 52),
        ]);
    }
    spans.push(span(Stage::Handler(0), 2, 110, 120));
    spans.reverse();
    Ok(spans)
}

#[tokio::test]
async fn a_retried_task_is_one_tree_under_its_own_id() -> Result<()> {
    let collector = Collector::default();
    let spans = Spans::start(&collector.start().await?, "gengfu-executor", "node-1")?;
    let task = TaskId::new(1_700_000_000_000, [7; 10]);
    for span in retried(task)? {
        spans.record(span);
    }
    spans.flush().await;
    assert_eq!((spans.sent(), spans.dropped()), (11, 0));
    let received = collector.spans();
    let by_id: HashMap<&[u8], &Span> = received
        .iter()
        .map(|span| (span.span_id.as_slice(), span))
        .collect();
    assert_eq!(by_id.len(), 11);
    for span in &received {
        assert_eq!(span.trace_id, task.as_bytes(), "{}", span.name);
    }
    let path = |span: &Span| -> Vec<String> {
        let above = |span: &&Span| by_id.get(span.parent_span_id.as_slice()).copied();
        std::iter::successors(Some(span), |span| above(span))
            .map(|span| span.name.clone())
            .collect()
    };
    let mut paths: Vec<String> = received.iter().map(|span| path(span).join(" < ")).collect();
    paths.sort();
    let run = "run < claim < dispatch < admit < submit";
    let mut expected = vec![
        "submit".to_owned(),
        "admit < submit".into(),
        format!("handler < {run}"),
    ];
    for stage in ["", "record < "] {
        expected.extend([format!("{stage}{run}"), format!("{stage}{run}")]);
    }
    expected.extend([
        "claim < dispatch < admit < submit".into(),
        "claim < dispatch < admit < submit".into(),
    ]);
    expected.extend([
        "dispatch < admit < submit".into(),
        "dispatch < admit < submit".into(),
    ]);
    expected.sort();
    assert_eq!(paths, expected);
    Ok(())
}

#[tokio::test]
async fn a_span_carries_error_link_times_and_origin() -> Result<()> {
    let collector = Collector::default();
    let spans = Spans::start(&collector.start().await?, "gengfu-executor", "node-1")?;
    let task = TaskId::new(1_700_000_000_000, [9; 10]);
    retried(task)?.into_iter().for_each(|span| spans.record(span));
    spans.flush().await;
    let received = collector.spans();
    let find = |stage, attempt| {
        let id = span_id(task, stage, attempt).to_be_bytes();
        received
            .iter()
            .find(|span| span.span_id == id)
            .context("a span is missing")
    };
    let failed = find(Stage::Run, 1)?;
    let status = failed.status.as_ref().context("no status")?;
    assert_eq!(
        (status.code, status.message.as_str()),
        (2, "HTTP 503, password=***")
    );
    assert_eq!(failed.start_time_unix_nano, 1_700_000_000_015_000_000);
    assert_eq!(failed.end_time_unix_nano, 1_700_000_000_060_000_000);
    assert_ne!(
        find(Stage::Run, 2)?.status.as_ref().map(|status| status.code),
        Some(2)
    );
    let root = find(Stage::Submit, 0)?;
    assert!(root.parent_span_id.is_empty(), "a root has no parent");
    assert_eq!(
        root.links[0].trace_id,
        0x0af7651916cd43dd8448eb211c80319c_u128.to_be_bytes()
    );
    // What a handler sends on puts the other side's spans below this very run.
    let sent = parse_traceparent(&traceparent(task, Stage::Run, 2, true))?;
    assert_eq!(
        sent.span_id.to_be_bytes().as_slice(),
        find(Stage::Run, 2)?.span_id
    );
    let origin = format!("{:?}", collector.received()[0].resource);
    assert!(
        origin.contains("gengfu-executor") && origin.contains("node-1"),
        "{origin}"
    );
    Ok(())
}

#[tokio::test]
async fn a_collector_that_never_answers_holds_nobody_up() -> Result<()> {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let spans = Spans::start(&format!("http://{}", silent.local_addr()?), "gengfu", "node-1")?;
    let task = TaskId::new(1_700_000_000_000, [7; 10]);
    let began = Instant::now();
    for attempt in 0..20_000 {
        spans.record(TaskSpan::new(task, Stage::Run, attempt, 0, 1));
    }
    assert!(
        began.elapsed() < Duration::from_secs(4),
        "waited for the collector"
    );
    assert!(
        spans.dropped() > 10_000,
        "the queue has no end: {}",
        spans.dropped()
    );
    Ok(())
}

#[test]
fn an_endpoint_that_is_no_address_is_refused() {
    let refused = Spans::start("localhost:4318", "gengfu", "node-1").map(drop);
    assert!(refused.is_err_and(|error| error.to_string().contains("http://127.0.0.1:4318")));
}
