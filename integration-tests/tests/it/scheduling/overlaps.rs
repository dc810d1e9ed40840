//! Each overlap policy over three executors, one of which is killed in the midst of a run.

use std::collections::BTreeMap;

use gengfu_integration_tests::{Gengfu, eventually};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    scheduling::{
        clock::machine_now,
        endpoint::Endpoint,
        ledger::{Ended, rfc3339},
    },
    town::{LIMIT, Town, ready},
};

/// The lease of a run: after it, the task of a killed executor goes to another.
const LEASE: (&str, &str) = ("executor.lease", "\"5s\"");
const NAME: &str = "overlapping";

/// A town with three executors and one schedule, whose tasks run until the test lets them go.
struct Stage {
    town: Town,
    endpoint: Endpoint,
    executors: BTreeMap<String, Gengfu>,
    step: i64,
    start: i64,
}

impl Stage {
    async fn set(overlap: &str, step: i64) -> Self {
        let endpoint = Endpoint::start().await;
        let town = Town::start_with(&[LEASE]).await;
        let executors = ["e1", "e2", "e3"].map(|name| (name.to_owned(), town.executor(name, 8)));
        let executors = BTreeMap::from(executors);
        for executor in executors.values() {
            ready(executor).await;
        }
        town.declare(&json!([endpoint.task_type("call")])).await;
        let start = machine_now() + 2;
        let schedule = json!({
            "name": NAME, "type": "call", "zone": "UTC", "every": format!("{step}s"), "start": rfc3339(start),
            "overlap": overlap,
        });
        town.schedule(&[schedule]).await;
        Self {
            town,
            endpoint,
            executors,
            step,
            start,
        }
    }

    /// The only task that runs.
    async fn the_one(&self) -> String {
        eventually!(within LIMIT, self.endpoint.open().len() == 1);
        self.endpoint.open().remove(0)
    }

    /// Kills the executor that runs a task.
    async fn kill_under(&mut self, id: &str) {
        let task = self.town.task(id).await;
        let name = task["executor_id"].as_str().unwrap_or_else(|| panic!("{task}"));
        self.executors.get_mut(name).unwrap().kill();
    }

    /// Waits for so many instants with this end.
    async fn count(&self, outcome: &str, reason: &str, wanted: usize) {
        eventually!(within LIMIT, {
            let ledger = self.town.ledger(NAME, self.step).await;
            ledger.iter().filter(|(_, how, why)| how == outcome && why == reason).count() >= wanted
        });
    }

    /// Ends the schedule and lets every task end. Its ledger, and its tasks as they ended, in the order of their instants.
    async fn end(&self) -> (Vec<Ended>, Vec<Value>) {
        let path = format!("/api/v1/schedules/{NAME}");
        let answer = self.town.api.delete(&path).await.unwrap();
        assert!(answer.status.is_success(), "{}", answer.text());
        self.endpoint.let_all_go();
        let ledger = self.town.ledger(NAME, self.step).await;
        let instants: Vec<_> = ledger.iter().map(|(at, _, _)| *at).collect();
        let step = usize::try_from(self.step).unwrap();
        let all: Vec<_> = (self.start..).step_by(step).take(instants.len()).collect();
        assert_eq!(instants, all, "an instant is missing or doubled");
        let mut tasks = Vec::new();
        for record in self.town.records(NAME).await {
            if let Some(id) = record["task_id"].as_str() {
                eventually!(within LIMIT, !self.town.task(id).await["finished_at"].is_null());
                tasks.push(self.town.task(id).await);
            }
        }
        self.town.check_tasks(&[NAME.to_owned()], "call").await;
        (ledger, tasks)
    }
}

fn ms(value: &Value) -> i64 {
    let text = value.as_str().unwrap_or_else(|| panic!("{value} is no instant"));
    text.parse::<Timestamp>().unwrap().as_millisecond()
}

/// None began before the one before it had ended.
fn check_one_after_the_other(tasks: &[Value]) {
    for pair in tasks.windows(2) {
        if !pair[1]["claimed_at"].is_null() {
            let (ended, began) = (ms(&pair[0]["finished_at"]), ms(&pair[1]["claimed_at"]));
            assert!(ended <= began, "{} and {}", pair[0], pair[1]);
        }
    }
}

fn statuses(tasks: &[Value]) -> Vec<&str> {
    tasks
        .iter()
        .map(|task| task["status"].as_str().unwrap())
        .collect()
}

/// How often the executor of a task vanished under it.
fn losses(task: &Value) -> u64 {
    task["losses"].as_u64().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn allow_runs_them_side_by_side_and_those_of_a_killed_executor_again() {
    let mut stage = Stage::set("allow", 1).await;
    eventually!(within LIMIT, stage.endpoint.open().len() >= 3);
    let first = stage.endpoint.open().remove(0);
    stage.kill_under(&first).await;
    eventually!(within LIMIT, stage.endpoint.came(&first) == 2);
    let (ledger, tasks) = stage.end().await;
    assert!(stage.endpoint.most() >= 3);
    assert!(
        ledger
            .iter()
            .all(|(_, how, why)| how == "fired" && why.is_empty()),
        "{ledger:?}"
    );
    assert!(
        statuses(&tasks).iter().all(|status| *status == "success"),
        "{tasks:?}"
    );
    assert_eq!((losses(&tasks[0]), stage.endpoint.came(&first)), (1, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn skip_skips_while_one_lives_also_while_it_has_no_executor() {
    let mut stage = Stage::set("skip", 1).await;
    let first = stage.the_one().await;
    stage.count("skipped", "overlap", 2).await;
    stage.kill_under(&first).await;
    eventually!(within LIMIT, stage.endpoint.came(&first) == 2);
    let killed = stage.town.ledger(NAME, 1).await;
    assert_eq!(
        killed.iter().filter(|(_, how, _)| how == "fired").count(),
        1,
        "{killed:?}"
    );
    stage.endpoint.let_one_go();
    eventually!(within LIMIT, stage.endpoint.open().iter().any(|id| *id != first));
    stage.count("skipped", "overlap", killed.len() + 1).await;
    let (ledger, tasks) = stage.end().await;
    assert_eq!(stage.endpoint.most(), 1);
    let plain =
        |(_, how, why): &Ended| (how == "fired" && why.is_empty()) || (how == "skipped" && why == "overlap");
    assert!(ledger.iter().all(plain), "{ledger:?}");
    assert_eq!(
        (losses(&tasks[0]), statuses(&tasks)),
        (1, vec!["success"; tasks.len()])
    );
    check_one_after_the_other(&tasks);
    // A skipped instant is one at which an earlier task lived, a fired one is not.
    for record in stage.town.records(NAME).await {
        let at = ms(&record["actual_at"]);
        let lived = tasks.iter().any(|task| {
            task["task_id"] != record["task_id"]
                && ms(&task["create_time"]) < at
                && at < ms(&task["finished_at"])
        });
        // A range is recorded when it began.
        assert_eq!(lived, record["outcome"] == "skipped", "{record} {tasks:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn queue_holds_one_and_lets_it_run_when_the_first_has_ended_wherever_it_ran() {
    let mut stage = Stage::set("queue", 1).await;
    let first = stage.the_one().await;
    stage.count("skipped", "queue full", 2).await;
    stage.kill_under(&first).await;
    eventually!(within LIMIT, stage.endpoint.came(&first) == 2);
    let killed = stage.town.ledger(NAME, 1).await;
    let outcomes: Vec<_> = killed
        .iter()
        .map(|(_, how, why)| (how.as_str(), why.as_str()))
        .collect();
    assert_eq!(outcomes[..2], [("fired", ""); 2], "{killed:?}");
    assert!(
        outcomes[2..].iter().all(|one| *one == ("skipped", "queue full")),
        "{killed:?}"
    );
    stage.endpoint.let_one_go();
    let records = stage.town.records(NAME).await;
    let second = records[1]["task_id"].as_str().unwrap().to_owned();
    eventually!(within LIMIT, stage.endpoint.open() == [second.clone()]);
    stage.count("fired", "", 3).await;
    let (ledger, tasks) = stage.end().await;
    assert_eq!(stage.endpoint.most(), 1);
    let plain = |(_, how, why): &Ended| {
        (how == "fired" && why.is_empty()) || (how == "skipped" && why == "queue full")
    };
    assert!(ledger.iter().all(plain), "{ledger:?}");
    assert_eq!(
        (losses(&tasks[0]), statuses(&tasks)),
        (1, vec!["success"; tasks.len()])
    );
    check_one_after_the_other(&tasks);
}

#[tokio::test(flavor = "multi_thread")]
async fn cancel_previous_waits_until_the_previous_is_fenced_off() {
    let mut stage = Stage::set("cancel_previous", 2).await;
    let first = stage.the_one().await;
    stage.kill_under(&first).await;
    // The next instant comes while that lease lasts: nothing may run before it has ended.
    eventually!(within LIMIT, stage.town.task(&first).await["status"] == "cancelled");
    eventually!(within LIMIT, stage.endpoint.open().iter().any(|id| *id != first));
    let (ledger, tasks) = stage.end().await;
    assert_eq!(stage.endpoint.most(), 1);
    assert!(
        ledger
            .iter()
            .all(|(_, how, why)| how == "fired" && why.is_empty()),
        "{ledger:?}"
    );
    let statuses = statuses(&tasks);
    let (last, before) = statuses.split_last().unwrap();
    assert_eq!((*last, before), ("success", &vec!["cancelled"; before.len()][..]));
    assert_eq!(stage.endpoint.came(&first), 1, "it ran again");
    check_one_after_the_other(&tasks);
}
