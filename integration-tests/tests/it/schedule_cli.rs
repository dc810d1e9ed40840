//! Schedules as an operator runs them: the command line against a town of processes.

use std::io::Write;

use gengfu_integration_tests::{Cli, CliOutput, eventually};
use serde_json::{Value, json};

use crate::town::{LIMIT, Town};

struct Desk {
    cli: Cli,
    town: Town,
}

impl Desk {
    async fn open() -> Self {
        // Small streams, so that a disk that is nearly full is enough.
        let small = [
            ("nats.events_max_bytes", "67108864"),
            ("nats.submit_max_bytes", "67108864"),
        ];
        let town = Town::start_with(&small).await;
        let cli = Cli::new(&town.gateway.url().unwrap()).unwrap();
        Self { cli, town }
    }

    async fn run(&self, arguments: &[&str]) -> CliOutput {
        self.cli.run(arguments).await.unwrap()
    }

    /// Runs a command that must succeed; its answer.
    async fn json(&self, arguments: &[&str]) -> Value {
        let mut all = arguments.to_vec();
        all.push("--json");
        let done = self.run(&all).await;
        assert_eq!(done.code, Some(0), "{arguments:?}: {}", done.stderr);
        done.json()
    }

    /// Applies definitions; what became of the last one.
    async fn apply(&self, definitions: &Value, flags: &[&str]) -> Value {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(definitions.to_string().as_bytes()).unwrap();
        let path = file.path().to_str().unwrap().to_owned();
        let mut arguments = vec!["apply", "-f", &path];
        arguments.extend(flags);
        let answer = self.json(&arguments).await;
        answer["changes"].as_array().unwrap().last().unwrap().clone()
    }
}

fn nightly(cron: &str) -> Value {
    json!({
        "types": [{"name": "say", "handler": "echo"}],
        "schedules": [{"name": "nightly", "type": "say", "cron": cron, "zone": "Asia/Shanghai", "payload": {"n": 1}}],
    })
}

#[tokio::test]
async fn an_operator_declares_looks_steers_and_deletes() {
    let desk = Desk::open().await;
    let dry = desk.apply(&nightly("0 2 * * *"), &["--dry-run"]).await;
    assert_eq!(dry["change"], "created");
    assert_eq!(desk.run(&["schedule", "show", "nightly"]).await.code, Some(1));
    desk.apply(&nightly("0 2 * * *"), &[]).await;
    let first = desk.json(&["schedule", "show", "nightly"]).await;
    assert_eq!(
        desk.apply(&nightly("0 2 * * *"), &[]).await["change"],
        "unchanged"
    );
    let same = desk.json(&["schedule", "show", "nightly"]).await;
    assert_eq!((&same["cursor"], &same["version"]), (&first["cursor"], &json!(1)));

    let preview = desk
        .json(&[
            "schedule",
            "preview",
            "nightly",
            "--count",
            "2",
            "--after",
            "2026-03-01",
        ])
        .await;
    assert_eq!(preview, json!(["2026-03-01T18:00:00Z", "2026-03-02T18:00:00Z"]));
    let listed = desk.run(&["schedule", "list"]).await;
    assert!(
        listed.text().contains("nightly") && listed.text().contains("0 2 * * *"),
        "{}",
        listed.text()
    );

    let paused = desk
        .json(&["schedule", "pause", "nightly", "--reason", "the rooms move"])
        .await;
    assert_eq!(
        (&paused["state"], &paused["reason"]),
        (&json!("paused"), &json!("the rooms move"))
    );
    let resumed = desk.json(&["schedule", "resume", "nightly"]).await;
    assert_eq!(resumed["state"], "active");

    desk.json(&["schedule", "delete", "nightly"]).await;
    let gone = desk.run(&["schedule", "show", "nightly"]).await;
    assert!(
        gone.code == Some(1) && gone.stderr.contains("there is no schedule"),
        "{}",
        gone.stderr
    );
    desk.apply(&nightly("0 2 * * *"), &[]).await;
    let again = desk.json(&["schedule", "show", "nightly"]).await;
    assert!(again["incarnation"].as_u64().unwrap() > first["incarnation"].as_u64().unwrap());
    assert_eq!(
        (&again["last_outcome"], &again["fires"]),
        (&Value::Null, &json!(0))
    );

    let other = json!({"schedules": [{"name": "other", "type": "say", "every": "1h", "zone": "UTC"}]});
    assert_eq!(desk.apply(&other, &["--prune"]).await["change"], "deleted");
    let wrong = desk
        .run(&[
            "schedule",
            "backfill",
            "other",
            "--from",
            "2026-03-03",
            "--to",
            "2026-03-01",
        ])
        .await;
    assert_eq!(wrong.code, Some(2), "{}", wrong.stderr);
}

#[tokio::test]
async fn fires_by_hand_and_of_the_past_become_tasks_once() {
    let desk = Desk::open().await;
    let _executor = desk.town.executor("executor-1", 2);
    desk.apply(&nightly("0 2 * * *"), &[]).await;
    let triggered = desk
        .json(&["schedule", "trigger", "nightly", "--payload", r#"{"n": 1.10}"#])
        .await;
    let id = triggered["task_id"].as_str().unwrap();
    eventually!(within LIMIT, desk.json(&["task", "get", id]).await["status"] == "success");
    let result = desk.run(&["task", "get", id, "--result"]).await;
    assert_eq!(result.text(), r#"{"n": 1.10}"#);
    let history = desk.json(&["schedule", "history", "nightly"]).await;
    assert_eq!(
        (&history["items"][0]["manual"], &history["items"][0]["task_id"]),
        (&json!(true), &json!(id))
    );

    let range = ["--from", "2026-03-01", "--to", "2026-03-03"];
    let backfill = [&["schedule", "backfill", "nightly"][..], &range].concat();
    assert_eq!(desk.json(&backfill).await["fired"], 2);
    assert_eq!(desk.json(&backfill).await["fired_before"], 2);
}

#[tokio::test]
async fn what_a_pause_held_back_is_shown_and_decided_about_before_it_runs() {
    let desk = Desk::open().await;
    let busy = json!({
        "types": [{"name": "say", "handler": "echo"}],
        "schedules": [{"name": "busy", "type": "say", "every": "1s", "zone": "UTC", "misfire": {"policy": "catch_up", "grace": "1s"}}],
    });
    desk.apply(&busy, &[]).await;
    let history = ["schedule", "history", "busy", "--outcome", "fired"];
    eventually!(within LIMIT, !desk.json(&history).await["items"].as_array().unwrap().is_empty());
    let fired = desk.json(&history).await["items"][0].clone();
    assert!(
        fired["task_id"].is_string() && fired["lateness_ms"].is_u64(),
        "{fired}"
    );
    desk.json(&["schedule", "pause", "busy"]).await;
    let backlog = ["schedule", "backlog", "busy"];
    eventually!(within LIMIT, desk.json(&backlog).await["count"].as_u64().unwrap() >= 4);
    let waiting = desk.json(&["schedule", "history", "busy"]).await["items"][0].clone();
    assert_eq!(
        (&waiting["reason"], &waiting["undecided"]),
        (&json!("paused"), &json!(true))
    );
    let all = desk.json(&["schedule", "backlog"]).await;
    assert_eq!(all["items"][0]["name"], "busy");
    let missed = desk.json(&backlog).await;
    let skip = [&backlog[..], &["--choose", "skip"]].concat();
    assert_eq!(
        desk.json(&[&skip[..], &["--dry-run"]].concat()).await["decided"],
        false
    );
    assert_eq!(desk.json(&skip).await["decided"], true);
    desk.json(&["schedule", "resume", "busy"]).await;
    let first = missed["first"].as_str().unwrap();
    let since = ["schedule", "history", "busy", "--oldest-first", "--since", first];
    // The decision holds, although the schedule's own policy would have fired all of them.
    eventually!(within LIMIT, desk.json(&since).await["items"][0]["undecided"] == false);
    let row = desk.json(&since).await["items"][0].clone();
    assert_eq!(
        (&row["outcome"], &row["reason"]),
        (&json!("skipped"), &json!("paused")),
        "{row}"
    );
    assert!(
        row["count"].as_u64().unwrap() >= missed["count"].as_u64().unwrap(),
        "{row}"
    );
}
