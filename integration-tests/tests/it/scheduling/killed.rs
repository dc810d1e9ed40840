//! Schedulers that die at each point around the firing script and the hints.

use std::os::unix::process::ExitStatusExt;

use gengfu_integration_tests::eventually;
use serde_json::{Value, json};

use crate::{
    scheduling::{
        clock::machine_now,
        ledger::{fired, rfc3339},
    },
    town::{LIMIT, Town, ready},
};

/// Where the schedulers die, one after the other.
const DEATHS: [&str; 8] = [
    "fire.before_script@1",
    "fire.after_script@1",
    "hint.before_send@1",
    "hint.after_send@1",
    "fire.before_script@7",
    "fire.after_script@7",
    "hint.before_send@4",
    "hint.after_send@4",
];
/// Schedules; each second some are due.
const SCHEDULES: i64 = 20;
/// From the declaration to the first instant.
const AHEAD: i64 = 5;
/// How long they fire; what is not fired in time is caught up.
const SPAN: i64 = 24;

fn schedule(number: i64, start: i64) -> (String, i64, Value) {
    let (name, step) = (format!("due-{number}"), 1 + number % 3);
    let schedule = json!({
        "name": name, "type": "say", "zone": "UTC", "every": format!("{step}s"),
        "start": rfc3339(start), "end": rfc3339(start + SPAN),
        "misfire": {"policy": "skip", "grace": "10m"},
    });
    (name, step, schedule)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scheduler_that_dies_at_any_point_of_a_firing_leaves_each_instant_exactly_once() {
    let mut town = Town::start().await;
    town.scheduler().kill();
    town.declare(&json!([{"name": "say", "handler": "echo"}])).await;
    let _executor = town.executor("e1", 16);
    let start = machine_now() + AHEAD;
    let all: Vec<_> = (0..SCHEDULES).map(|number| schedule(number, start)).collect();
    let schedules: Vec<_> = all.iter().map(|(_, _, schedule)| schedule.clone()).collect();
    town.schedule(&schedules).await;

    for point in DEATHS {
        let mut scheduler = town
            .role("scheduler")
            .fault(&format!("kill:{point}"))
            .start()
            .unwrap();
        let status = scheduler.wait(LIMIT).unwrap();
        assert!(
            status.signal().is_some(),
            "{point}: it did not die there, but ended with {status}"
        );
    }
    let heir = town.role("scheduler").start().unwrap();
    ready(&heir).await;

    let mut names = Vec::new();
    for (name, step, _) in &all {
        eventually!(within LIMIT, town.shown(name).await["state"] == "finished");
        let instants = (start..start + SPAN).step_by(usize::try_from(*step).unwrap());
        let expected: Vec<_> = instants.map(fired).collect();
        assert_eq!(town.ledger(name, *step).await, expected, "{name}");
        names.push(name.clone());
    }
    town.check_tasks(&names, "say").await;
    // A hint that was never sent keeps no task waiting (I5).
    eventually!(within LIMIT, {
        let open = town.api.list("/api/v1/tasks?type=say&limit=1000").await.unwrap();
        open.iter().all(|task| task["status"] == "success")
    });
}
