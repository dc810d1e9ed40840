//! Submit, drain, both at once, and the latency of a steady load.

use std::{collections::HashMap, time::Duration};

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::{
    latency::{Run, mark, percentile, runs},
    load,
    report::Report,
    town::{Cost, Town},
};

const LIMIT: Duration = Duration::from_secs(180);

/// How much is measured.
#[derive(Args)]
pub(crate) struct Options {
    /// Tasks of each load but the steady one.
    #[arg(long, default_value_t = 20_000)]
    tasks: usize,
    /// Tasks of the steady load, 100 a second.
    #[arg(long, default_value_t = 2_000)]
    steady: usize,
    /// Whole measurements; the report shows their medians.
    #[arg(long, default_value_t = 3)]
    runs: usize,
}

pub(crate) async fn run(options: &Options) -> Result<()> {
    ensure!(
        options.tasks > 0 && options.steady > 0 && options.runs > 0,
        "--tasks, --steady and --runs are at least 1"
    );
    let mut report = Report::default();
    for number in 1..=options.runs {
        measure(options, &mut report).await?;
        eprintln!("run {number} of {}: {}", options.runs, report.last_line());
    }
    report.print(&[("tasks", options.tasks), ("runs", options.runs)])
}

async fn measure(options: &Options, report: &mut Report) -> Result<()> {
    let count = options.tasks;
    let mut town = Town::start().await?;
    town.start_role("executor")?;
    town.role("executor")?.address().await?;
    let mut done = warm_up(&town).await?;
    report.memory("memory at rest", town.memory()?);

    let one = load::one_by_one(&town.api, count.min(5_000)).await?;
    report.rate("submit one by one /s", one.count, one.seconds);
    done += one.count;
    town.wait_for(done as u64, LIMIT).await?;

    town.stop_role("executor").await?;
    let bulk = load::bulk(&town.api, count).await?;
    report.rate("submit bulk /s", bulk.count, bulk.seconds);
    done += count;

    let before = town.cost()?;
    town.start_role("executor")?;
    town.wait_for(done as u64, LIMIT).await?;
    report.cost("cpu us a task, drain", count, &before, &town.cost()?);
    let log = town.role("executor")?.log().to_owned();
    let drained = runs(&log, 0, count).await?;
    let first = drained
        .values()
        .map(|run| run.begin_us)
        .min()
        .context("no run in the log")?;
    report.rate("drain /s", drained.len(), seconds(first, last(&drained)?));
    report.memory("memory full", town.memory()?);

    let (before, from) = (town.cost()?, mark(&log)?);
    let through = load::bulk(&town.api, count).await?;
    done += count;
    town.wait_for(done as u64, LIMIT).await?;
    let ran = runs(&log, from, count).await?;
    report.rate("through /s", ran.len(), seconds(through.began_us, last(&ran)?));
    report.cost("cpu us a task, through", count, &before, &town.cost()?);

    steady(options, &town, report, done).await
}

/// The first tasks find cold caches, unopened connections and no consumers.
async fn warm_up(town: &Town) -> Result<usize> {
    let submitted = load::bulk(&town.api, 2_000).await?;
    town.wait_for(submitted.count as u64, LIMIT).await?;
    Ok(submitted.count)
}

async fn steady(options: &Options, town: &Town, report: &mut Report, done: usize) -> Result<()> {
    let log = town.role("executor")?.log().to_owned();
    let (before, from) = (town.cost()?, mark(&log)?);
    let sent = load::steady(&town.api, options.steady).await?;
    town.wait_for((done + sent.len()) as u64, LIMIT).await?;
    report.cost("cpu us a task, steady", sent.len(), &before, &town.cost()?);
    let ran = runs(&log, from, sent.len()).await?;
    let (mut starts, mut ends) = (Vec::new(), Vec::new());
    for (id, sent_us) in &sent {
        let run = ran
            .get(id)
            .with_context(|| format!("task {id} has no run in the log"))?;
        starts.push(seconds(*sent_us, run.begin_us) * 1e3);
        ends.push(seconds(*sent_us, run.end_us) * 1e3);
    }
    for (name, share) in [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)] {
        report.value(
            format!("submit to start {name} ms"),
            percentile(&mut starts, share),
        );
        report.value(
            format!("submit to finish {name} ms"),
            percentile(&mut ends, share),
        );
    }
    Ok(())
}

fn last(runs: &HashMap<String, Run>) -> Result<i64> {
    runs.values()
        .map(|run| run.end_us)
        .max()
        .context("no run in the log")
}

#[expect(clippy::cast_precision_loss, reason = "microseconds of one measurement")]
fn seconds(from_us: i64, to_us: i64) -> f64 {
    (to_us - from_us) as f64 / 1e6
}

/// What each process used between two looks, in microseconds a task.
pub(crate) fn spent(tasks: usize, before: &Cost, after: &Cost) -> Cost {
    let was = |name: &str| {
        before
            .iter()
            .find(|(known, _)| *known == name)
            .map_or(0.0, |(_, used)| *used)
    };
    #[expect(clippy::cast_precision_loss, reason = "counts of one measurement")]
    after
        .iter()
        .map(|(name, used)| (*name, (used - was(name)) / tasks as f64 * 1e6))
        .collect()
}
