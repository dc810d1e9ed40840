//! The demo as a whole: nothing lost, nothing duplicated, and it says so in its last line.

use std::process::Command;
use std::time::Duration;

use gengfu_integration_tests::{Process, target_dir};

const LIMIT: Duration = Duration::from_secs(240);

#[test]
fn the_demo_loses_and_doubles_nothing() {
    let mut command = Command::new(target_dir().join("airports-demo"));
    let mut demo = Process::spawn("demo", command.arg("--once")).unwrap();
    let status = demo.wait(LIMIT).unwrap();
    let line = demo
        .output()
        .wait_for("{\"tasks\":", Duration::from_secs(5))
        .unwrap();
    let report: serde_json::Value = serde_json::from_str(&line).unwrap();
    let count = |key: &str| report[key].as_u64().unwrap();
    assert!(status.success(), "{status}: {line}");
    assert_eq!(
        (count("lost"), count("duplicated"), count("tasks")),
        (0, 0, 3_376),
        "{line}"
    );
    assert_eq!(count("success") + count("dead"), 3_376, "{line}");
    assert!(
        (15..=60).contains(&count("dead")),
        "about 1 % of the rows are refused: {line}"
    );
    assert!(count("retried") > 80, "about 4 % of the calls fail: {line}");
}
