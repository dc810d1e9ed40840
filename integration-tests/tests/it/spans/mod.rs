//! The spans of one retried task come from all services and make one tree under the task's own id.

mod collector;

use std::collections::HashMap;

use collector::{Collector, Received, hex};
use gengfu_integration_tests::eventually;
use serde_json::json;

use crate::town::{LIMIT, Town, ready};

const CALLER: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// What stands above a run.
const RUN: &str = "run < claim < dispatch < admit < submit";

#[tokio::test]
async fn a_retried_task_is_one_tree_with_spans_of_every_service() {
    let collector = Collector::start().await;
    let endpoint = format!("{:?}", collector.url);
    let town = Town::start_with(&[("telemetry.otlp_endpoint", &endpoint)]).await;
    let executor = town.executor("executor", 4);
    ready(&executor).await;
    town.declare(&json!([{ "name": "once.bad", "handler": "fail", "backoff": ["100ms"] }]))
        .await;
    let body = json!({
        "task_type": "once.bad", "payload": { "class": "transient", "times": 1 }, "traceparent": CALLER,
    });
    let answer = town.api.post("/api/v1/tasks", &body).await.unwrap();
    let task = answer.json()["task_id"].as_str().unwrap().to_owned();

    // The trace id is the task's own, so that either finds the other.
    let trace = task.replace('-', "");
    let wanted = wanted();
    eventually!(within LIMIT, collector.trace(&trace).len() >= wanted.len());
    let spans = collector.trace(&trace);
    let mut found: Vec<_> = spans.iter().map(|span| told(span, &spans)).collect();
    found.sort();
    assert_eq!(found, wanted);
    for span in &spans {
        let id = &span.span.span_id;
        assert_eq!(
            spans.iter().filter(|other| other.span.span_id == *id).count(),
            1,
            "{span:?}"
        );
        follows_its_parent(span, &spans);
    }
    let root = spans.iter().find(|span| span.span.name == "submit").unwrap();
    let links: Vec<_> = root
        .span
        .links
        .iter()
        .map(|link| (hex(&link.trace_id), hex(&link.span_id)))
        .collect();
    assert_eq!(links, [(CALLER[3..35].to_owned(), CALLER[36..52].to_owned())]);
}

/// Each span: who sent it, in which attempt, the names up to the root, and whether it failed.
fn wanted() -> Vec<String> {
    let mut wanted = vec![
        "gateway 0 submit".to_owned(),
        "gateway 0 admit < submit".to_owned(),
    ];
    for (attempt, failed) in [(1, " (failed)"), (2, "")] {
        wanted.extend([
            format!("executor {attempt} dispatch < admit < submit"),
            format!("executor {attempt} claim < dispatch < admit < submit"),
            format!("executor {attempt} {RUN}{failed}"),
            format!("recorder {attempt} record < {RUN}"),
        ]);
    }
    wanted.sort();
    wanted
}

fn told(received: &Received, all: &[Received]) -> String {
    let by_id: HashMap<_, _> = all.iter().map(|other| (&other.span.span_id, other)).collect();
    let above = |span: &&Received| by_id.get(&span.span.parent_span_id).copied();
    let names: Vec<_> = std::iter::successors(Some(received), |span| above(span))
        .map(|span| span.span.name.as_str())
        .collect();
    let service = received.service.trim_start_matches("gengfu-");
    let failed = received
        .span
        .status
        .as_ref()
        .is_some_and(|status| status.code == 2);
    let failed = if failed { " (failed)" } else { "" };
    format!("{service} {} {}{failed}", attempt(received), names.join(" < "))
}

fn attempt(received: &Received) -> i64 {
    use opentelemetry_proto::tonic::common::v1::any_value::Value;
    let attribute = received
        .span
        .attributes
        .iter()
        .find(|attribute| attribute.key == "gengfu.attempt");
    match attribute.and_then(|attribute| attribute.value.as_ref()?.value.as_ref()) {
        Some(Value::IntValue(attempt)) => *attempt,
        other => panic!("no attempt but {other:?}: {received:?}"),
    }
}

/// A stage begins when the one above it has begun, and ends after its own beginning.
fn follows_its_parent(received: &Received, all: &[Received]) {
    let span = &received.span;
    assert!(span.start_time_unix_nano <= span.end_time_unix_nano, "{span:?}");
    if let Some(parent) = all.iter().find(|other| other.span.span_id == span.parent_span_id) {
        assert!(
            parent.span.start_time_unix_nano <= span.start_time_unix_nano,
            "{span:?} below {parent:?}"
        );
    }
}
