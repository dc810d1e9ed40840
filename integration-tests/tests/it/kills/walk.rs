//! The run itself: submit, kill and replace until all is done, then read every timeline.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use gengfu_integration_tests::{Api, Gengfu, eventually};
use serde_json::{Value, json};
use tokio::time::{MissedTickBehavior, interval};

use super::timelines::{self, Timeline};
use crate::town::{Town, ready};

const TASKS: usize = 10_000;
const TASKS_A_REQUEST: usize = 1_000;
const EXECUTORS: usize = 3;
const SLOTS: u32 = 32;
/// One kill each second.
const KILL_EVERY: Duration = Duration::from_secs(1);
/// Far more than it takes; a run that hangs is ended here, with the counts.
const KILLS_MAX: u32 = 150;
/// Redis is away for ten seconds in one of the tests.
const SUBMIT_LIMIT: Duration = Duration::from_secs(60);

/// What a run came to.
#[derive(Debug)]
pub(crate) struct Report {
    /// Each kill's executor, and how many running attempts it took along.
    lost: Vec<(String, usize)>,
    /// Attempts whose lease ended although nobody killed their executor.
    lost_alive: usize,
    /// From the first submission until every task had ended.
    took: Duration,
}

impl Report {
    /// Kills that lost a running attempt or more.
    pub(crate) fn kills_that_hurt(&self) -> usize {
        self.lost.iter().filter(|(_, lost)| *lost > 0).count()
    }

    /// Says what happened.
    pub(crate) fn print(&self, trouble: &str) {
        let each: Vec<_> = self.lost.iter().map(|(_, lost)| lost.to_string()).collect();
        eprintln!(
            "{trouble}: {TASKS} tasks of 100 ms in {:.1} s, {} kills of which {} lost running attempts: {} \
             (other lost attempts: {})",
            self.took.as_secs_f64(),
            self.lost.len(),
            self.kills_that_hurt(),
            each.join(" "),
            self.lost_alive,
        );
    }
}

/// Runs all tasks while each second `trouble` may do its part, and then the oldest executor is killed and replaced.
pub(crate) async fn walk(trouble: impl FnMut(u32, &mut Town)) -> Report {
    let mut town = Town::start_with(&[("executor.lease", "\"3s\"")]).await;
    let nap = json!({ "name": "nap", "handler": "sleep", "max_lost": 50 });
    town.declare(&json!([nap])).await;
    let executors: Vec<_> = (1..=EXECUTORS)
        .map(|number| town.executor(&name(number), SLOTS))
        .collect();
    for executor in &executors {
        ready(executor).await;
    }
    let started = Instant::now();
    let submitting = tokio::spawn(submit_all(town.api.clone()));
    let killed = kill_until_done(&mut town, executors, trouble).await;
    let took = started.elapsed();
    let ids = submitting.await.unwrap();
    let timelines = timelines::read_all(&town.api, ids).await;
    timelines.iter().for_each(Timeline::check);
    report(&killed, &timelines, took)
}

fn name(number: usize) -> String {
    format!("executor-{number}")
}

/// Submits every task; the keys let a request be repeated that got no whole answer.
async fn submit_all(api: Api) -> Vec<String> {
    let mut ids = Vec::with_capacity(TASKS);
    let rows: Vec<_> = (0..TASKS).collect();
    for rows in rows.chunks(TASKS_A_REQUEST) {
        ids.extend(eventually!(within SUBMIT_LIMIT, submit(&api, rows).await));
    }
    ids
}

async fn submit(api: &Api, rows: &[usize]) -> Result<Vec<String>, String> {
    let task = |row: &usize| json!({ "payload": { "ms": 100 }, "idempotency_key": format!("row-{row}") });
    let tasks: Vec<_> = rows.iter().map(task).collect();
    let body = json!({ "tasks": tasks, "defaults": { "task_type": "nap" } });
    let answer = api
        .post("/api/v1/tasks:batch", &body)
        .await
        .map_err(|error| format!("{error:?}"))?;
    let id = |item: &Value| item["task_id"].as_str().map(str::to_owned);
    let items = answer.json()["items"]
        .as_array()
        .map(|items| items.iter().map(id).collect());
    items.flatten().ok_or_else(|| answer.text())
}

/// The names of the killed, in order.
async fn kill_until_done(
    town: &mut Town,
    executors: Vec<Gengfu>,
    mut trouble: impl FnMut(u32, &mut Town),
) -> Vec<String> {
    let mut executors: std::collections::VecDeque<_> = executors
        .into_iter()
        .zip(1..)
        .map(|(executor, number)| (name(number), executor))
        .collect();
    let mut killed = Vec::new();
    // The pace is what is asked for, no wait for something that could be seen.
    let mut pace = interval(KILL_EVERY);
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    pace.tick().await;
    for second in 1..=KILLS_MAX {
        pace.tick().await;
        if ended(&town.api).await == Some(TASKS) {
            return killed;
        }
        tokio::task::block_in_place(|| trouble(second, town));
        if let Some((name, mut executor)) = executors.pop_front() {
            executor.kill();
            killed.push(name);
        }
        let next = name(EXECUTORS + killed.len());
        executors.push_back((next.clone(), town.executor(&next, SLOTS)));
    }
    let stats = town.api.get("/api/v1/stats").await.unwrap();
    panic!("not done after {KILLS_MAX} kills: {}", stats.text());
}

/// How many tasks have ended; none where the API does not say.
async fn ended(api: &Api) -> Option<usize> {
    let stats = api.get("/api/v1/stats").await.ok()?.json();
    let count = |status: &str| stats["tasks"][status].as_u64();
    let ended = count("success")? + count("dead")? + count("cancelled")?;
    usize::try_from(ended).ok()
}

fn report(killed: &[String], timelines: &[Timeline], took: Duration) -> Report {
    let mut lost: BTreeMap<&str, usize> = BTreeMap::new();
    for node in timelines.iter().flat_map(Timeline::lost_at) {
        *lost.entry(node).or_default() += 1;
    }
    let by_kill = |name: &String| (name.clone(), lost.remove(name.as_str()).unwrap_or(0));
    let by_kill = killed.iter().map(by_kill).collect();
    Report {
        lost: by_kill,
        lost_alive: lost.values().sum(),
        took,
    }
}
