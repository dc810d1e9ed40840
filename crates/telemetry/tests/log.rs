//! The log of a whole process: the test runs itself as a child, and reads the child's standard error.

use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use domain::{ErrorClass, Status, TaskId};
use gengfu_telemetry::{LogFormat, LogStage, StageLine, TelemetryConfig, init, log_stage, set_level};
use serde_json::{Value, json};

const CHILD: &str = "GENGFU_TEST_LOG_FORMAT";

fn line(task_id: TaskId) -> StageLine<'static> {
    StageLine {
        attempt: 2,
        from: Some(Status::Running),
        to: Some(Status::Failed),
        elapsed_ms: Some(1_250),
        wait_ms: Some(0),
        version: 7,
        at: 1_735_689_600_000,
        actor: "executor",
        reason: "HTTP 503",
        error_class: Some(ErrorClass::Transient),
        error_code: "http_503",
        error: "upstream said \"no\"\nauthorization: Bearer abc",
        retry_count: Some(1),
        max_retry: Some(3),
        retry_in_ms: Some(30_000),
        input: Some(br#"{"room":1,"token":"hunter2"}"#),
        result: Some(&[0xff, 0]),
        ..StageLine::new(LogStage::Error, task_id, "room.notify")
    }
}

/// Not a test of its own: what the child does.
#[test]
fn child() -> Result<()> {
    let Ok(format) = std::env::var(CHILD) else {
        return Ok(());
    };
    let format = if format == "json" {
        LogFormat::Json
    } else {
        LogFormat::Text
    };
    let node = "node-1".to_owned();
    let config = TelemetryConfig {
        level: "info".into(),
        format,
        node,
        ..TelemetryConfig::default()
    };
    let guard = init(&config)?;
    assert!(init(&config).is_err(), "twice");
    let task_id = TaskId::from_bytes(*b"0123456789abcdef");
    log_stage(&line(task_id));
    log_stage(&StageLine::new(LogStage::Update, task_id, "echo"));
    tracing::info!(target: "gengfu_test", count = 3, ratio = 0.5, on = true, url = "redis://a:hunter2@h", ts = 1, "connected");
    tracing::debug!("not at this level");
    let panicked = std::thread::spawn(|| panic!("on \"purpose\"")).join();
    assert!(panicked.is_err());
    set_level("warn")?;
    log_stage(&line(task_id));
    tracing::info!("no longer at this level");
    set_level("info")?;
    for _ in 0..5_000 {
        log_stage(&line(task_id));
    }
    drop(guard);
    Ok(())
}

fn run_child(format: &str) -> Result<String> {
    let child = Command::new(std::env::current_exe()?)
        .args(["--exact", "child", "--nocapture", "--test-threads=1"])
        .env(CHILD, format)
        .stdout(Stdio::null())
        .output()?;
    let text = String::from_utf8(child.stderr)?;
    anyhow::ensure!(child.status.success(), "the child failed: {text}");
    Ok(text)
}

#[test]
fn every_line_is_an_object_with_the_fields_of_the_contract() -> Result<()> {
    let text = run_child("json")?;
    let lines = text
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<Vec<Value>, _>>()
        .context("no JSON")?;
    assert_eq!(lines.len(), 4 + 5_000);
    let mut stage = lines[0].clone();
    let ts = stage
        .as_object_mut()
        .and_then(|line| line.remove("ts"))
        .context("no ts")?;
    assert!(
        ts.as_str().is_some_and(|ts| ts.len() == 27 && ts.ends_with('Z')),
        "{ts}"
    );
    let expected = json!({
        "level": "info", "msg": "task", "stage": "error", "task_id": "30313233-3435-3637-3839-616263646566",
        "task_type": "room.notify", "attempt": 2, "from": "running", "to": "failed", "node": "node-1",
        "elapsed_ms": 1250, "wait_ms": 0, "version": 7, "at": "2025-01-01T00:00:00Z", "actor": "executor",
        "reason": "HTTP 503", "error_class": "transient", "error_code": "http_503",
        "error": "upstream said \"no\"\nauthorization: ***", "retry_count": 1, "max_retry": 3,
        "retry_in_ms": 30000, "input_info": "{\"room\":1,\"token\":\"***\"}", "result_info": "\u{fffd}\u{0}"
    });
    assert_eq!(stage, expected);
    let fields: Vec<&String> = lines[1].as_object().context("no object")?.keys().collect();
    assert_eq!(
        fields,
        [
            "ts",
            "level",
            "msg",
            "stage",
            "task_id",
            "task_type",
            "attempt",
            "node"
        ]
    );
    let mut record = lines[2].clone();
    record.as_object_mut().and_then(|line| line.remove("ts"));
    let expected = json!({
        "level": "info", "msg": "connected", "target": "gengfu_test", "node": "node-1", "count": 3, "ratio": 0.5,
        "on": true, "url": "redis://a:***@h", "ts_": 1
    });
    assert_eq!(record, expected);
    assert_eq!(
        (&lines[3]["msg"], &lines[3]["panic"]),
        (&json!("panic"), &json!("on \"purpose\""))
    );
    Ok(())
}

#[test]
fn the_text_form_has_one_line_each_too() -> Result<()> {
    let text = run_child("text")?;
    assert_eq!(text.lines().count(), 4 + 5_000);
    assert!(!text.contains("hunter2") && !text.contains("abc\""), "{text}");
    let first = text.lines().next().context("no line")?;
    assert!(
        first.contains("info  task error 30313233-3435-3637-3839-616263646566 room.notify running→failed")
    );
    Ok(())
}
