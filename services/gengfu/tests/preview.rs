//! `gengfu schedule preview` alone, without a server: every case of the repository through the command, on hosts of
//! whatever zone.

#![allow(clippy::unwrap_used)]

use std::process::{Command, Output};

use serde_json::Value;

/// Zones of hosts: the answer must be the same on each of them.
const HOSTS: [&str; 5] = [
    "UTC",
    "America/New_York",
    "Asia/Kolkata",
    "Pacific/Apia",
    "Australia/Lord_Howe",
];

fn preview(host: Option<&str>, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gengfu"));
    command.args(["schedule", "preview"]).args(arguments);
    match host {
        Some(zone) => command.env("TZ", zone),
        None => command.env_remove("TZ"),
    };
    command.output().unwrap()
}

fn cases(kind: &str) -> Vec<Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../cases/cron.json");
    let mut cases: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    serde_json::from_value(cases[kind].take()).unwrap()
}

fn every_case(host: Option<&str>) {
    let cases = cases("next");
    assert!(cases.len() >= 40);
    for case in cases {
        let expected = &case["next"];
        let count = expected.as_array().unwrap().len().to_string();
        let mut arguments = vec!["--json", "--count", &count];
        for (option, field) in [
            ("--cron", "cron"),
            ("--zone", "zone"),
            ("--after", "after"),
            ("--dst-gap", "dst_gap"),
            ("--dst-overlap", "dst_overlap"),
        ] {
            if let Some(value) = case[field].as_str() {
                arguments.extend([option, value]);
            }
        }
        let output = preview(host, &arguments);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {told}");
        let fires: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(&fires, expected, "{arguments:?} with TZ={host:?}");
    }
}

#[test]
fn every_case_fires_when_it_should() {
    every_case(None);
}

#[test]
fn the_answer_does_not_depend_on_the_zone_of_the_host() {
    for host in HOSTS {
        every_case(Some(host));
    }
}

#[test]
fn every_rejected_expression_is_refused_as_wrong_use_with_a_sentence_and_a_hint() {
    let cases = cases("rejected");
    assert!(cases.len() >= 10);
    for case in cases {
        let cron = case["cron"].as_str().unwrap();
        for json in [&["--json"][..], &[]] {
            let output = preview(None, &[&["--cron", cron, "--zone", "UTC"], json].concat());
            let told = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(2), "{cron}: {told}");
            assert!(output.stdout.is_empty(), "{cron}");
            let (sentence, hint) = told.split_once("; ").unwrap();
            assert!(
                sentence.starts_with("gengfu: --cron: ") && hint.len() > 10,
                "{told}"
            );
        }
    }
}

#[test]
fn what_else_is_wrong_is_refused_too() {
    for (arguments, named) in [
        (
            vec!["--cron", "0 9 * * *", "--zone", "Asia/Shangai"],
            "Asia/Shanghai",
        ),
        (vec!["--cron", "0 9 * * *"], "--zone"),
        (vec!["--zone", "UTC"], "--cron"),
        (vec!["--every", "5", "--zone", "UTC"], "--every"),
        (
            vec!["--every", "5m", "--cron", "@daily", "--zone", "UTC"],
            "--every",
        ),
        (
            vec!["--every", "5m", "--zone", "UTC", "--after", "yesterday"],
            "--after",
        ),
        (vec!["--every", "5m", "--zone", "UTC", "--count", "0"], "--count"),
        (
            vec!["--every", "5m", "--zone", "UTC", "--dst-gap", "jump"],
            "shift or skip",
        ),
        (
            vec!["--every", "5m", "--zone", "UTC", "--dialect", "unix"],
            "cron or quartz",
        ),
    ] {
        let output = preview(None, &arguments);
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {told}");
        assert!(told.contains(named), "{arguments:?}: {told}");
    }
}

#[test]
fn the_table_says_in_words_what_fires_and_marks_the_days_on_which_the_clock_changes() {
    let output = preview(
        None,
        &[
            "--cron",
            "30 2 * * *",
            "--zone",
            "America/New_York",
            "--after",
            "2026-03-07T08:00:00Z",
            "--count",
            "2",
        ],
    );
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = words(&String::from_utf8(output.stdout).unwrap());
    for expected in [
        "at 02:30 every day, America/New_York",
        "1 fire a day",
        "zone data 20",
        "2026-03-08T03:00:00-04:00 Sun 2026-03-08T07:00:00Z clock changes on this day; in place of 2026-03-08T02:30:00",
        "2026-03-09T02:30:00-04:00 Mon 2026-03-09T06:30:00Z",
    ] {
        assert!(text.contains(expected), "{expected} in {text}");
    }
    let output = preview(None, &["--cron", "0 0 9 ? * 2-6 2020", "--zone", "UTC"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("Tuesday to Saturday"));
    assert!(String::from_utf8_lossy(&output.stdout).contains("no further fire"));
    let output = preview(
        None,
        &[
            "--every",
            "90m",
            "--zone",
            "Asia/Shanghai",
            "--after",
            "2026-03-01T00:00:00.5Z",
            "--count",
            "2",
            "--json",
        ],
    );
    assert_eq!(
        output.stdout,
        b"[\"2026-03-01T01:30:00Z\",\"2026-03-01T03:00:00Z\"]\n"
    );
    let quartz = ["--cron", "0 0 9 ? * 2-6", "--zone", "UTC", "--dialect", "quartz"];
    assert!(String::from_utf8_lossy(&preview(None, &quartz).stdout).contains("Monday to Friday"));
}
