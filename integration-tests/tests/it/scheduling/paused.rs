//! Schedulers that stand still for longer than any of their leases, in the middle of a firing.

use gengfu_integration_tests::{Gengfu, eventually};
use serde_json::{Value, json};

use crate::{
    scheduling::{
        clock::machine_now,
        ledger::{fired, rfc3339},
    },
    town::{LIMIT, Town, ready},
};

/// Schedules of each kind.
const OF_A_KIND: usize = 6;
/// From the declaration to the first instant: time to declare them.
const AHEAD: i64 = 8;
/// How long they fire: longer than both pauses take.
const SPAN: i64 = 36;
/// How long a scheduler stands still: turns last 3 s, calls to the store 5 s.
const PAUSE: i64 = 9;

/// Names and steps in seconds of schedules that fire from `start` until `end`.
fn kinds(start: i64, end: i64) -> Vec<(i64, Value)> {
    let mut all = Vec::new();
    for number in 0..OF_A_KIND {
        let one = |name: &str, when: Value| {
            let mut schedule = json!({
                "name": format!("{name}-{number}"), "type": "say", "zone": "Asia/Shanghai",
                "start": rfc3339(start), "end": rfc3339(end),
            });
            for (key, value) in when.as_object().unwrap() {
                schedule[key] = value.clone();
            }
            schedule
        };
        all.push((1, one("every", json!({"every": "1s"}))));
        all.push((1, one("cron", json!({"cron": "* * * * * *"}))));
        all.push((
            3,
            one(
                "third",
                json!({"every": "3s", "overlap": "queue", "queue_max": 64}),
            ),
        ));
        all.push((
            2,
            one("spread", json!({"cron": "*/2 * * * * *", "spread": "1500ms"})),
        ));
    }
    all
}

/// Lets the others get far ahead of a scheduler that stands still.
async fn past_any_lease(town: &Town, scheduler: &Gengfu, watched: &str) {
    let since = machine_now();
    town.passed(watched, since + PAUSE).await;
    scheduler.resume();
}

#[tokio::test(flavor = "multi_thread")]
async fn each_of_two_schedulers_stands_still_past_any_lease_and_nothing_is_doubled_or_missed() {
    let mut town = Town::start().await;
    town.scheduler().kill();
    town.declare(&json!([{"name": "say", "handler": "echo"}])).await;
    let _executor = town.executor("e1", 16);
    let start = (machine_now() + AHEAD) / 6 * 6 + 6;
    let end = start + SPAN;
    let all = kinds(start, end);
    let schedules: Vec<_> = all.iter().map(|(_, schedule)| schedule.clone()).collect();
    town.schedule(&schedules).await;
    assert!(
        machine_now() < start,
        "the machine is too slow to declare them in time"
    );

    // It has decided about a firing, and plays it only after the other has fired the same and what follows.
    let first = town
        .role("scheduler")
        .fault("hold:fire.before_script@20")
        .start()
        .unwrap();
    ready(&first).await;
    let second = town.role("scheduler").start().unwrap();
    ready(&second).await;
    first.output().wait_for("fault point holds", LIMIT).unwrap();
    first.pause();
    first.go_on();
    past_any_lease(&town, &first, "every-0").await;
    first.output().wait_for("fault point goes on", LIMIT).unwrap();

    // The other has just written a record.
    let mark = second.output().mark();
    second
        .output()
        .wait_after(mark, r#""msg":"trigger""#, LIMIT)
        .unwrap();
    second.pause();
    past_any_lease(&town, &second, "every-0").await;

    let mut names = Vec::new();
    for (step, schedule) in &all {
        let name = schedule["name"].as_str().unwrap();
        eventually!(within LIMIT, town.shown(name).await["state"] == "finished");
        let instants = (start..end).step_by(usize::try_from(*step).unwrap());
        let expected: Vec<_> = instants.map(fired).collect();
        assert_eq!(town.ledger(name, *step).await, expected, "{name}");
        names.push(name.to_owned());
    }
    town.check_tasks(&names, "say").await;
}
