//! Reads what became of a planned instant, and holds the records against the tasks (I7).

use std::collections::HashMap;

use anyhow::{Context, Result, ensure};
use futures::{StreamExt, TryStreamExt, stream};
use gengfu_integration_tests::Api;
use jiff::Timestamp;
use serde_json::Value;

use crate::schedules;

/// Reads side by side.
const READS_AT_ONCE: usize = 16;

/// One fire.
#[derive(Debug)]
pub(crate) struct Fire {
    pub(crate) task: String,
    /// When it was fired by the store's clock, after its planned instant.
    pub(crate) late_ms: f64,
}

/// The fire of each of the first `count` schedules.
///
/// # Errors
/// One that has not exactly one record of `planned`, and exactly one task.
pub(crate) async fn audit(api: &Api, count: usize, planned: Timestamp) -> Result<Vec<Fire>> {
    let reads = (0..count).map(|number| record(api, schedules::name(number), planned));
    let fires: Vec<(String, Fire)> = stream::iter(reads)
        .buffer_unordered(READS_AT_ONCE)
        .try_collect()
        .await?;
    let mut tasks: HashMap<String, String> = HashMap::with_capacity(count);
    for task in api.list("/api/v1/tasks?type=bench.echo&limit=1000").await? {
        let (id, schedule) = (text(&task, "task_id")?, text(&task, "schedule_id")?);
        ensure!(
            text(&task, "planned_at")?.parse::<Timestamp>()? == planned,
            "a task of another instant: {task}"
        );
        let other = tasks.insert(schedule.clone(), id);
        ensure!(other.is_none(), "schedule {schedule} has two tasks");
    }
    ensure!(
        tasks.len() == count,
        "{count} schedules have {} tasks",
        tasks.len()
    );
    for (name, fire) in &fires {
        let task = tasks.get(name);
        ensure!(
            task == Some(&fire.task),
            "schedule {name} fired {}, its task is {task:?}",
            fire.task
        );
    }
    Ok(fires.into_iter().map(|(_, fire)| fire).collect())
}

async fn record(api: &Api, name: String, planned: Timestamp) -> Result<(String, Fire)> {
    let answer = api.get(&format!("/api/v1/schedules/{name}/triggers")).await?;
    let body = answer.json();
    let records = body["items"].as_array().context("no records")?;
    let [record] = records.as_slice() else {
        anyhow::bail!("schedule {name} has {} records: {body}", records.len());
    };
    let is_fire = record["outcome"] == "fired" && record["count"] == 1 && record["manual"] == false;
    let at: Timestamp = text(record, "planned_at")?.parse()?;
    ensure!(
        is_fire && at == planned,
        "schedule {name} has another record: {record}"
    );
    let fired: Timestamp = text(record, "actual_at")?.parse()?;
    let late_ms = (fired - planned).as_millis_f64();
    let task = text(record, "task_id")?;
    Ok((name, Fire { task, late_ms }))
}

fn text(value: &Value, key: &str) -> Result<String> {
    let text = value[key]
        .as_str()
        .with_context(|| format!("no {key} in {value}"))?;
    Ok(text.to_owned())
}
