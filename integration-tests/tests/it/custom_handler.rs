//! The SDK's example beside a real town: its own handler and the built-in ones, commands too, on its own pool.

use std::path::Path;

use gengfu_integration_tests::{Cli, Gengfu, GengfuBuilder, target_dir};

use crate::town::{LIMIT, Town};

/// The example, as its README starts it: the town has no other executor.
fn example(town: &Town) -> GengfuBuilder {
    town.role("executor")
        .program(target_dir().join("custom-handler"))
        .set_text("executor.pool", "words")
        .set_text("executor.id", "the-example")
}

fn examples() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/custom-handler")
}

async fn apply(cli: &Cli) {
    let types = examples().join("types.yaml");
    let applied = cli.run(&["apply", "-f", types.to_str().unwrap()]).await.unwrap();
    assert_eq!(applied.code, Some(0), "{applied:?}");
}

/// Submits and waits; the task as it ended.
async fn submit(cli: &Cli, task_type: &str, payload: &str) -> serde_json::Value {
    let submit = ["submit", task_type, "--payload", payload, "--wait", "--json"];
    let submitted = cli.run(&submit).await.unwrap();
    let task = submitted.json();
    assert!(task["task_id"].is_string(), "{submitted:?}");
    task
}

async fn result(cli: &Cli, task: &serde_json::Value) -> String {
    let get = ["task", "get", task["task_id"].as_str().unwrap(), "--result"];
    cli.run(&get).await.unwrap().text()
}

#[tokio::test]
async fn the_examples_handler_and_the_built_in_ones_run_on_its_pool() {
    let town = Town::start().await;
    let mut example = example(&town)
        .set("executor.commands", r#"["tr"]"#)
        .start()
        .unwrap();
    let cli = town.gateway.cli().unwrap();
    apply(&cli).await;
    for (task_type, payload, expected) in [
        (
            "words.count",
            r#"{"text": "The watch strikes, the town sleeps."}"#,
            r#"{"words":6,"distinct":5,"most_frequent":"the"}"#,
        ),
        ("words.echo", r#"["as it came",  1.0]"#, r#"["as it came",  1.0]"#),
        ("words.upper", r#""by a program""#, r#""BY A PROGRAM""#),
    ] {
        let task = submit(&cli, task_type, payload).await;
        assert_eq!(
            (
                task["status"].as_str(),
                task["attempt"].as_u64(),
                task["executor_id"].as_str()
            ),
            (Some("success"), Some(1), Some("the-example")),
            "{task}"
        );
        assert_eq!(result(&cli, &task).await, expected);
    }
    assert_eq!(
        example.terminate(LIMIT).unwrap().code(),
        Some(0),
        "{}",
        example.output().tail()
    );
}

#[tokio::test]
async fn a_program_that_is_not_permitted_is_refused_by_name() {
    let town = Town::start().await;
    let _example = example(&town).start().unwrap();
    let cli = town.gateway.cli().unwrap();
    apply(&cli).await;
    let task = submit(&cli, "words.upper", "{}").await;
    assert_eq!(
        (task["status"].as_str(), task["error_code"].as_str()),
        (Some("dead"), Some("program_not_allowed")),
        "{task}"
    );
}

#[test]
fn the_example_takes_settings_as_every_role_does_and_refuses_wrong_ones() {
    let start = |setting: &str| {
        let example = Gengfu::bare("executor").program(target_dir().join("custom-handler"));
        example.arg("--set").arg(setting).start().unwrap()
    };
    let mut wrong = start("executor.lease=soon");
    assert_eq!(wrong.wait(LIMIT).unwrap().code(), Some(2));
    let line = wrong.output().wait_for("executor.lease", LIMIT).unwrap();
    assert!(line.starts_with("custom-handler: "), "{line}");

    // Somebody who starts the supervisor by hand is told who can.
    let mut supervisor = Gengfu::bare("executor")
        .program(target_dir().join("custom-handler"))
        .arg("supervise")
        .start()
        .unwrap();
    assert_eq!(supervisor.wait(LIMIT).unwrap().code(), Some(1));
    supervisor
        .output()
        .wait_for("only an executor can start this", LIMIT)
        .unwrap();
}
