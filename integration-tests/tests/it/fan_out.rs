//! A fire that becomes a batch: every row one task, whatever becomes of the process that makes them.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use gengfu_integration_tests::{Gengfu, eventually};
use serde_json::{Value, json};

use crate::town::{LIMIT, Town, ready};

const ROWS: u64 = 20_000;
/// Rows that are stored when the emitter is killed.
const KILLS: [u64; 3] = [1_000, 6_000, 12_000];
/// A town that stores and runs so many tasks.
const LONG: Duration = Duration::from_secs(240);

fn cases() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../cases/batch")
}

/// An executor that may read these files and run any program.
fn emitter(town: &Town, name: &str, files: &Path) -> Gengfu {
    town.role("executor")
        .set_text("executor.id", name)
        .set_text("executor.pool", "emit")
        .set("executor.files", format!("[{:?}]", files.to_str().unwrap()))
        .set("executor.commands", r#"["*"]"#)
        .start()
        .unwrap()
}

async fn apply(town: &Town, body: &Value) {
    let answer = town.api.post("/api/v1/apply", body).await.unwrap();
    assert!(answer.status.is_success(), "{}", answer.text());
}

fn types(schema: &Value) -> Value {
    json!([
        {"name": "row", "handler": "echo", "pool": "emit", "input_schema": schema},
        {"name": "report", "handler": "echo", "pool": "emit"},
        {"name": "list", "handler": "command", "pool": "emit", "command": {"program": "/bin/sh", "args": [
            "-c", "cat; echo; echo '{\"id\": 9007199254740993}'; echo '{oops'; echo '{\"id\": \"x\"}'"]}},
        {"name": "emit", "handler": "gengfu.fan-out", "pool": "emit", "backoff": ["100ms"], "max_retry": 1},
    ])
}

fn ids() -> Value {
    json!({"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}})
}

/// Triggers a schedule; the task that makes the batch.
async fn trigger(town: &Town, schedule: &str) -> String {
    let path = format!("/api/v1/schedules/{schedule}/trigger");
    let answer = town.api.post(&path, &json!({})).await.unwrap();
    answer.json()["task_id"]
        .as_str()
        .unwrap_or_else(|| panic!("{}", answer.text()))
        .to_owned()
}

/// The task once it has ended.
async fn ended(town: &Town, id: &str) -> Value {
    eventually!(within LONG, {
        let task = town.task(id).await;
        let over = matches!(task["status"].as_str(), Some("success" | "dead"));
        over.then_some(task)
    })
}

async fn batch(town: &Town, id: &str) -> Value {
    town.api
        .get(&format!("/api/v1/batches/{id}"))
        .await
        .unwrap()
        .json()
}

async fn of_batch(town: &Town, id: &str, status: &str) -> Vec<Value> {
    let path = format!("/api/v1/tasks?batch={id}&status={status}");
    town.api.list(&path).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_of_20_000_rows_is_one_task_though_the_emitter_is_killed_three_times() {
    let town = Town::start_with(&[("executor.lease", "\"2s\"")]).await;
    let folder = tempfile::tempdir().unwrap();
    let text = (0..ROWS).fold("id\n".to_owned(), |text, id| format!("{text}{id}\n"));
    let file = folder.path().join("rows.csv");
    std::fs::write(&file, text).unwrap();
    let mut declared = types(&ids());
    declared[0]["pool"] = json!("default");
    let soon = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() + 5;
    let at = jiff::Timestamp::from_second(i64::try_from(soon).unwrap()).unwrap();
    let mut executor = emitter(&town, "emitter-0", folder.path());
    let rows = json!({"source": "file", "path": file, "each": "row", "then": "report"});
    let schedule =
        json!({"name": "nightly", "at": at.to_string(), "zone": "UTC", "pool": "emit", "fan_out": rows});
    apply(&town, &json!({"types": declared, "schedules": [schedule]})).await;
    let parent = eventually!(within LIMIT, {
        let shown = town.api.get("/api/v1/schedules/nightly/triggers").await.unwrap().json();
        shown["items"][0]["batch_id"].as_str().map(str::to_owned)
    });
    for (number, stored) in KILLS.into_iter().enumerate() {
        eventually!(within LONG, batch(&town, &parent).await["total"].as_u64() >= Some(stored));
        executor.kill();
        let total = batch(&town, &parent).await["total"].as_u64().unwrap();
        assert!(total < ROWS, "it was killed too late: {total} rows");
        executor = emitter(&town, &format!("emitter-{}", number + 1), folder.path());
    }
    let made = ended(&town, &parent).await;
    assert_eq!(
        (&made["status"], &made["losses"]),
        (&json!("success"), &json!(3)),
        "{made}"
    );
    let runner = town.executor("runner", 64);
    ready(&runner).await;
    eventually!(within LONG, batch(&town, &parent).await["sealed"]["task_id"].is_string());
    let shown = batch(&town, &parent).await;
    assert_eq!(
        (&shown["total"], &shown["counts"]["success"]),
        (&json!(ROWS), &json!(ROWS))
    );
    let all = town.api.list("/api/v1/tasks?type=row&limit=1000").await.unwrap();
    let lines: BTreeSet<_> = all
        .iter()
        .map(|task| task["batch_row"].as_u64().unwrap())
        .collect();
    assert_eq!(all.len() as u64, ROWS, "a row has more than one task");
    assert!(lines.into_iter().eq(2..ROWS + 2), "a row has no task");
    let reports = town.api.list("/api/v1/tasks?type=report").await.unwrap();
    assert_eq!(reports.len(), 1, "{reports:?}");
    assert_eq!(reports[0]["parent_id"], json!(parent));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_case_of_a_file_gives_what_is_expected_of_it() {
    let town = Town::start().await;
    let read = |name: &str| -> Value {
        serde_json::from_slice(&std::fs::read(cases().join(name)).unwrap()).unwrap()
    };
    let folder = cases().canonicalize().unwrap();
    let _executor = emitter(&town, "emitter", &folder);
    let (expected, mut schedules) = (read("expected.json"), Vec::new());
    for file in expected.as_object().unwrap().keys() {
        let rows = json!({"source": "file", "path": folder.join(file), "each": "row", "then": "report"});
        schedules.push(json!({"name": file, "type": "emit", "every": "1d", "zone": "UTC", "fan_out": rows}));
    }
    let rows = json!({"source": "file", "path": "/etc/hosts.csv", "each": "row"});
    schedules.push(json!({"name": "secret", "type": "emit", "every": "1d", "zone": "UTC", "fan_out": rows}));
    apply(
        &town,
        &json!({"types": types(&read("schema.json")), "schedules": schedules}),
    )
    .await;
    for (file, case) in expected.as_object().unwrap() {
        let parent = trigger(&town, file).await;
        let task = ended(&town, &parent).await;
        if case["refused"].is_string() {
            assert_eq!(task["error_code"], "invalid_input", "{file}: {task}");
            assert!(of_batch(&town, &parent, "dead").await.is_empty(), "{file}");
            continue;
        }
        assert_eq!(task["status"], "success", "{file}: {task}");
        eventually!(within LIMIT, batch(&town, &parent).await["sealed"]["task_id"].is_string());
        assert_eq!(
            of_batch(&town, &parent, "success").await.len() as u64,
            case["tasks"],
            "{file}"
        );
        let mut dead = of_batch(&town, &parent, "dead").await;
        dead.sort_by_key(|task| task["batch_row"].as_u64());
        let wanted = case["dead"].as_array().unwrap();
        assert_eq!(dead.len(), wanted.len(), "{file}: {dead:?}");
        for (task, wanted) in dead.iter().zip(wanted) {
            let error: Value = serde_json::from_str(task["error"].as_str().unwrap()).unwrap();
            assert_eq!(
                (&error["line"], &error["column"]),
                (&wanted["line"], &wanted["column"]),
                "{file}"
            );
        }
    }
    let secret = ended(&town, &trigger(&town, "secret").await).await;
    assert_eq!(secret["error_code"], "file_not_allowed", "{secret}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_gives_lines_an_address_is_asked_again_and_a_source_that_changed_is_told() {
    use axum::{Router, http::StatusCode, routing::get};
    let town = Town::start().await;
    let asked = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    let answer = move || {
        let first = asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0;
        std::future::ready(match first {
            true => (StatusCode::SERVICE_UNAVAILABLE, ""),
            false => (StatusCode::OK, "id\n1\n2\n"),
        })
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/rows.csv", listener.local_addr().unwrap());
    let server =
        tokio::spawn(axum::serve(listener, Router::new().route("/rows.csv", get(answer))).into_future());
    let schedule = |name: &str, rows: Value| json!({"name": name, "type": "emit", "every": "1d", "zone": "UTC", "fan_out": rows});
    let from_url =
        |max: u64| json!({"source": "url", "url": url, "each": "row", "then": "report", "max_rows": max});
    let mut lines = schedule(
        "lines",
        json!({"source": "handler", "type": "list", "each": "row"}),
    );
    lines["payload"] = json!({"id": 7});
    let schedules = [lines, schedule("url", from_url(2)), schedule("many", from_url(1))];
    apply(&town, &json!({"types": types(&ids()), "schedules": schedules})).await;
    // Before anybody runs, the second line of this batch is stored with another content.
    let parent = trigger(&town, "url").await;
    let other = json!({"task_type": "row", "idempotency_key": format!("{parent}/3"), "payload": {"id": 99}});
    assert!(
        town.api
            .post("/api/v1/tasks", &other)
            .await
            .unwrap()
            .status
            .is_success()
    );
    let _executor = emitter(&town, "emitter", Path::new("/nowhere"));
    let changed = ended(&town, &parent).await;
    assert_eq!(
        (&changed["error_code"], &changed["attempt"]),
        (&json!("source_changed"), &json!(2)),
        "{changed}"
    );
    let good = trigger(&town, "url").await;
    assert_eq!(ended(&town, &good).await["status"], "success");
    eventually!(within LIMIT, batch(&town, &good).await["counts"]["success"] == 2);
    let many = trigger(&town, "many").await;
    assert_eq!(ended(&town, &many).await["error_code"], "too_many_rows");
    let list = trigger(&town, "lines").await;
    assert_eq!(ended(&town, &list).await["status"], "success");
    eventually!(within LIMIT, of_batch(&town, &list, "success").await.len() == 2);
    let dead: BTreeSet<_> = of_batch(&town, &list, "dead")
        .await
        .iter()
        .map(|task| task["batch_row"].to_string())
        .collect();
    assert_eq!(dead, ["3", "4"].map(str::to_owned).into());
    server.abort();
}

#[tokio::test]
async fn a_definition_that_can_make_no_batch_is_refused_with_its_field() {
    let town = Town::start().await;
    town.declare(&types(&ids())).await;
    for (task_type, rows, field) in [
        (
            Value::Null,
            json!({"source": "file", "path": "/a.csv", "each": "nobody"}),
            "fan_out.each",
        ),
        (
            Value::Null,
            json!({"source": "file", "path": "/a.csv", "each": "row", "then": "no"}),
            "fan_out.then",
        ),
        (
            Value::Null,
            json!({"source": "handler", "type": "emit", "each": "row"}),
            "fan_out.type",
        ),
        (
            Value::Null,
            json!({"source": "file", "path": "a.csv", "each": "row"}),
            "fan_out.path",
        ),
        (
            json!("row"),
            json!({"source": "file", "path": "/a.csv", "each": "row"}),
            "type",
        ),
    ] {
        let one = json!({"name": "s", "type": task_type, "every": "1d", "zone": "UTC", "fan_out": rows});
        let answer = town
            .api
            .post("/api/v1/apply", &json!({"schedules": [one]}))
            .await
            .unwrap();
        assert_eq!(answer.status.as_u16(), 422, "{}", answer.text());
        let fields: Vec<_> = answer.json()["errors"]
            .as_array()
            .unwrap()
            .iter()
            .map(|fault| fault["field"].as_str().unwrap().to_owned())
            .collect();
        assert!(
            fields.iter().any(|found| found.ends_with(&format!(".{field}"))),
            "{field}: {fields:?}"
        );
    }
}
