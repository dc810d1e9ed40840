//! `gengfu schedule simulate`: the real policies on a virtual clock.

#![allow(clippy::unwrap_used)]

mod program;

use std::process::Output;

use serde_json::{Value, json};

fn simulate(definitions: &str, arguments: &[&str]) -> Output {
    let command = ["schedule", "simulate", "-f", "-"];
    program::gengfu(&[&command[..], arguments].concat(), definitions.as_bytes())
}

fn report(definitions: &str, arguments: &[&str]) -> Value {
    let output = simulate(definitions, &[arguments, &["--json"]].concat());
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// One schedule of every ten minutes under each policy.
const POLICIES: &str = "
schedules:
- {name: skips, type: t, cron: '*/10 * * * *', zone: UTC, misfire: skip}
- {name: once, type: t, cron: '*/10 * * * *', zone: UTC}
- {name: catches-up, type: t, cron: '*/10 * * * *', zone: UTC, misfire: {policy: catch_up, max: 3, within: 2h}}
- {name: ends, type: t, cron: '*/10 * * * *', zone: UTC, max_fires: 4}
";

#[test]
fn an_outage_of_ninety_minutes_does_to_each_policy_what_it_says() {
    let report = report(
        POLICIES,
        &[
            "--from",
            "2026-03-01",
            "--to",
            "2026-03-01T12:00:00Z",
            "--outage",
            "2026-03-01T08:30:30Z..2026-03-01T10:00:30Z",
        ],
    );
    let line = |name: &str, fires: u64, caught_up: u64, missed: u64| {
        json!({"name": name, "fires": fires, "caught_up": caught_up, "skipped": 0, "missed": missed,
            "first": "2026-03-01T00:00:00Z", "last": "2026-03-01T11:50:00Z"})
    };
    // Of 72 instants 8 are too late; 10:00 is 30 seconds late and just fires.
    let mut ends = line("ends", 4, 0, 0);
    ends["last"] = json!("2026-03-01T00:30:00Z");
    assert_eq!(
        report["schedules"],
        json!([
            line("skips", 64, 0, 8),
            line("once", 65, 1, 7),
            line("catches-up", 67, 3, 5),
            ends
        ])
    );
    assert_eq!(report["fires"], 200);
    // At 10:00:30 all three fire their 10:00, one its 09:50, one its newest three.
    assert_eq!(
        report["busiest"][0],
        json!({"minute": "2026-03-01T10:00:00Z", "fires": 7})
    );
    assert_eq!(
        report["busiest"][1],
        json!({"minute": "2026-03-01T00:00:00Z", "fires": 4})
    );
}

#[test]
fn a_year_of_many_schedules_has_as_many_fires_as_the_calendar_says() {
    let schedules: Vec<String> = (0..200)
        .map(|index| {
            format!(
                "- {{name: s{index}, type: t, cron: '{} 9 * * *', zone: Asia/Shanghai, spread: 30m}}",
                index % 60
            )
        })
        .collect();
    let definitions = format!("schedules:\n{}", schedules.join("\n"));
    let report = report(&definitions, &["--from", "2026-01-01", "--to", "2027-01-01"]);
    assert_eq!(report["fires"], 200 * 365);
    for line in report["schedules"].as_array().unwrap() {
        assert_eq!(
            (&line["fires"], &line["missed"]),
            (&json!(365), &json!(0)),
            "{line}"
        );
    }
}

#[test]
fn days_off_do_not_fire_and_a_year_that_is_not_covered_is_told() {
    let definitions = "
calendars: [{name: cn, years: '2026', off: ['2026-10-01..2026-10-07'], on: ['2026-10-10']}]
schedules: [{name: works, type: t, cron: '0 9 * * *', zone: Asia/Shanghai, calendar: cn}]
";
    let october = ["--from", "2026-10-01", "--to", "2026-10-12"];
    let report = report(definitions, &october);
    let line = &report["schedules"][0];
    // The 8th and 9th, and Saturday the 10th; not the 11th.
    assert_eq!(
        (&line["fires"], &line["first"]),
        (&json!(3), &json!("2026-10-08T01:00:00Z"))
    );
    let output = simulate(definitions, &["--from", "2026-12-01", "--to", "2027-02-01"]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(
        told.contains("calendar does not cover 2027") && told.contains("2027-01-01T09:00:00+08:00"),
        "{told}"
    );
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("2026-12-01T09:00:00+08:00") && text.contains("busiest"),
        "{text}"
    );
}

#[test]
fn what_is_wrong_is_told() {
    for (arguments, code, named) in [
        (vec!["--from", "2026-03-02", "--to", "2026-03-01"], 2, "--to"),
        (vec!["--from", "1990-01-01", "--to", "2026-03-01"], 2, "ten years"),
        (vec!["--from", "2026-03-01", "--to", "March"], 2, "--to"),
        (
            vec![
                "--from",
                "2026-03-01",
                "--to",
                "2026-03-02",
                "--outage",
                "2026-03-01",
            ],
            2,
            "FROM..TO",
        ),
        (
            vec![
                "--from",
                "2026-03-01",
                "--to",
                "2026-03-02",
                "--outage",
                "2026-03-02..2026-03-01",
            ],
            2,
            "ends before",
        ),
    ] {
        let output = simulate(POLICIES, &arguments);
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {told}");
        assert!(told.contains(named), "{arguments:?}: {told}");
    }
    for (definitions, named) in [
        (
            "schedules: [{name: a, type: t, cron: '0 0 30 2 *', zone: UTC}]",
            "schedules[0] (a): cron",
        ),
        ("types: []", "no schedules"),
    ] {
        let output = simulate(definitions, &["--from", "2026-03-01", "--to", "2026-03-02"]);
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.contains(named), "{told}");
    }
}
