//! Every file of cases/batch through `gengfu batch` gives what expected.json says.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use gengfu_integration_tests::CliOutput;
use serde_json::{Value, json};

use crate::town::{Town, ready};

const TYPE: &str = "room.open";

/// What a refusal says of each file that is refused.
const REFUSALS: [(&str, &[&str]); 3] = [
    ("gbk.csv", &["UTF-8", "line 2", "--encoding gbk"]),
    (
        "renamed-column.csv",
        &["column room_id is missing", "column room is unknown"],
    ),
    ("empty.csv", &["no header"]),
];

/// What the handler received: a row's number among the tasks in order, a field and the exact text of its value.
const RECEIVED: [(&str, usize, &str, &str); 7] = [
    ("plain.csv", 0, "title", "\"早间新闻\""),
    ("quoted.csv", 0, "title", r#""say \"hi\", twice""#),
    ("quoted.csv", 0, "note", r#""line one\nline two""#),
    ("big-int.csv", 0, "room_id", "9007199254740993"),
    ("big-int.csv", 1, "room_id", "18446744073709551615"),
    ("lines.jsonl", 1, "room_id", "9007199254740993"),
    ("lines.jsonl", 1, "title", r#""\u0000nul""#),
];

fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../cases/batch")
}

fn read_json(name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(cases().join(name)).unwrap()).unwrap()
}

#[tokio::test]
async fn every_file_gives_what_is_expected_of_it() {
    let town = Town::start_with(&[]).await;
    let executor = town.executor("executor", 8);
    ready(&executor).await;
    town.declare(&json!([{ "name": TYPE, "handler": "echo", "input_schema": read_json("schema.json") }]))
        .await;
    let expected = read_json("expected.json");
    assert_eq!(
        named(&expected),
        files(),
        "the files and those that expected.json names"
    );
    for (file, case) in expected.as_object().unwrap() {
        if case["refused"].is_string() {
            is_refused(&town, file).await;
        } else {
            is_stored(&town, file, &[], case).await;
        }
        for (options, case) in case["with"].as_object().into_iter().flatten() {
            let options: Vec<_> = options.split(' ').collect();
            let tasks = is_stored(&town, file, &options, case).await;
            let title = received(&town, &tasks[0], "title").await;
            assert_eq!(title, case["title_of_row_2"].to_string(), "{file} {options:?}");
        }
    }
}

fn named(expected: &Value) -> BTreeSet<String> {
    expected.as_object().unwrap().keys().cloned().collect()
}

fn files() -> BTreeSet<String> {
    let names = std::fs::read_dir(cases()).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names
        .filter(|name| !matches!(name.as_str(), "expected.json" | "schema.json"))
        .collect()
}

async fn batch(town: &Town, file: &str, options: &[&str]) -> CliOutput {
    let path = cases().join(file);
    let mut arguments = vec!["batch", TYPE, path.to_str().unwrap(), "--wait", "--json"];
    arguments.extend(options);
    town.gateway.cli().unwrap().run(&arguments).await.unwrap()
}

async fn is_refused(town: &Town, file: &str) {
    let before = town.tasks().await;
    let output = batch(town, file, &[]).await;
    assert_eq!(output.code, Some(1), "{file}: {output:?}");
    let (_, words) = REFUSALS.iter().find(|(name, _)| *name == file).unwrap();
    for word in *words {
        assert!(
            output.stderr.contains(word),
            "{file}: no {word:?} in {}",
            output.stderr
        );
    }
    assert_eq!(town.tasks().await, before, "{file}: something was submitted");
}

/// Gives the tasks that ran, in the order of their rows.
async fn is_stored(town: &Town, file: &str, options: &[&str], case: &Value) -> Vec<Value> {
    let before = town.tasks().await;
    let output = batch(town, file, options).await;
    let (tasks, dead) = (case["tasks"].as_u64().unwrap(), case["dead"].as_array().unwrap());
    let rejected = dead.len() as u64;
    assert_eq!(output.code, Some(0), "{file}: {output:?}");
    let answer = output.json();
    let counts = ["rows", "submitted", "rejected", "success", "dead"].map(|key| answer[key].as_u64());
    let wanted = [tasks + rejected, tasks, rejected, tasks, rejected].map(Some);
    assert_eq!(counts, wanted, "{file}: {output:?}");
    assert_eq!(town.tasks().await, before + tasks + rejected, "{file}");
    let of_batch = |status: &str| {
        let batch = answer["batch_id"].as_str().unwrap();
        format!("/api/v1/tasks?batch={batch}&status={status}")
    };
    let found = in_order(town.api.list(&of_batch("dead")).await.unwrap());
    assert_eq!(found.iter().map(place).collect::<Vec<_>>(), *dead, "{file}");
    let ran = in_order(town.api.list(&of_batch("success")).await.unwrap());
    for (_, row, field, text) in RECEIVED.iter().filter(|(name, ..)| *name == file) {
        assert_eq!(
            received(town, &ran[*row], field).await,
            *text,
            "{file}, row {row}, {field}"
        );
    }
    ran
}

fn in_order(mut tasks: Vec<Value>) -> Vec<Value> {
    tasks.sort_by_key(|task| task["batch_row"].as_u64());
    tasks
}

/// Where a dead row is at fault, as expected.json writes it; checks the rest of what a dead row must say.
fn place(task: &Value) -> Value {
    assert_eq!(
        (task["error_class"].as_str(), task["error_code"].as_str()),
        (Some("deterministic"), Some("invalid_input")),
        "{task}"
    );
    let mut error: Value = serde_json::from_str(task["error"].as_str().unwrap()).unwrap();
    assert_eq!(error["line"], task["batch_row"], "{task}");
    let reason = error.as_object_mut().unwrap().remove("reason");
    assert!(
        reason.is_some_and(|reason| !reason.as_str().unwrap().is_empty()),
        "{task}"
    );
    if error["column"].is_null() {
        error.as_object_mut().unwrap().remove("column");
    }
    error
}

/// The exact text of a field as the handler, which gives its payload back, received it.
async fn received(town: &Town, task: &Value, field: &str) -> String {
    let path = format!("/api/v1/tasks/{}/result", task["task_id"].as_str().unwrap());
    let result = town.api.get(&path).await.unwrap();
    result.json()[field].to_string()
}
