//! Many schedules that are due at the same second, two schedulers, and a whole town that runs what they fire.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::Args;
use jiff::{SignedDuration, Timestamp, ToSpan, Unit, tz::TimeZone};

use crate::{
    latency::{percentile, runs},
    ledger::{Fire, audit},
    report::Report,
    schedules,
    town::Town,
};

const LIMIT: Duration = Duration::from_secs(120);
/// What is left between the last declaration and the instant, at least.
const REST: SignedDuration = SignedDuration::from_secs(2);

/// How much is measured.
#[derive(Args)]
pub(crate) struct Options {
    /// Schedules that are due at the same second.
    #[arg(long, default_value_t = 10_000)]
    schedules: usize,
    /// Kills one of the two schedulers in that second (SIGKILL), while it fires, and starts it again.
    #[arg(long)]
    kill: bool,
    /// Whole measurements; the report shows their medians.
    #[arg(long, default_value_t = 1)]
    runs: usize,
}

pub(crate) async fn run(options: &Options) -> Result<()> {
    ensure!(
        options.schedules > 0 && options.runs > 0,
        "--schedules and --runs are at least 1"
    );
    let mut report = Report::default();
    for number in 1..=options.runs {
        measure(options, &mut report).await?;
        eprintln!("run {number} of {}: {}", options.runs, report.last_line());
    }
    report.print(&[
        ("schedules", options.schedules),
        ("runs", options.runs),
        ("kills", usize::from(options.kill)),
    ])
}

async fn measure(options: &Options, report: &mut Report) -> Result<()> {
    let count = options.schedules;
    let mut town = Town::start().await?;
    // The one that was first has the turns: it is the one to kill.
    town.role("scheduler")?.address().await?;
    for name in ["scheduler-2", "executor"] {
        town.start_role(name)?;
        town.role(name)?.address().await?;
    }
    let planned = declare(&town, count).await?;
    let before = town.cost()?;
    until(planned).await?;
    if options.kill {
        kill_amid(&mut town, count, report).await?;
    } else {
        // Looking at the town while it fires would take part in what is measured.
        until(planned + 1.second()).await?;
    }
    town.wait_for(count as u64, LIMIT).await?;
    if !options.kill {
        report.cost("cpu us a fire", count, &before, &town.cost()?);
    }
    let fires = audit(&town.api, count, planned).await?;
    report.value("fired once".to_owned(), whole(fires.len()));
    lateness(
        report,
        "fired late",
        fires.iter().map(|fire| fire.late_ms).collect(),
    );
    let starts = starts(&town, &fires, planned).await?;
    lateness(report, "started late", starts);
    Ok(())
}

/// Declares the schedules for a second that is near, and gives that.
async fn declare(town: &Town, count: usize) -> Result<Timestamp> {
    let ahead = SignedDuration::from_secs(5 + i64::try_from(count)? / 500);
    let planned = (Timestamp::now() + ahead).round(Unit::Second)?;
    let civil = planned.to_zoned_datetime(TimeZone::UTC);
    let cron = format!("{} {} {} * * *", civil.second(), civil.minute(), civil.hour());
    schedules::declare(&town.api, 0..count, &cron).await?;
    let rest = planned.duration_since(Timestamp::now());
    ensure!(
        rest >= REST,
        "declaring {count} schedules took longer than {ahead:#}"
    );
    Ok(planned)
}

async fn until(instant: Timestamp) -> Result<()> {
    let wait = instant.duration_since(Timestamp::now());
    tokio::time::sleep(Duration::try_from(wait).unwrap_or_default()).await;
    Ok(())
}

/// Kills a scheduler once the first have fired, and starts it again.
async fn kill_amid(town: &mut Town, count: usize, report: &mut Report) -> Result<()> {
    let mut fired = 0;
    while fired == 0 {
        fired = town.made().await?;
    }
    town.kill_role("scheduler")?;
    let fired = usize::try_from(town.made().await?)?;
    ensure!(
        fired < count,
        "all had fired before the kill: take more --schedules"
    );
    report.value("fired before the kill".to_owned(), whole(fired));
    town.start_role("scheduler")
}

/// When runs began after the planned instant, in milliseconds, by the executor's log.
async fn starts(town: &Town, fires: &[Fire], planned: Timestamp) -> Result<Vec<f64>> {
    let runs = runs(town.role("executor")?.log(), 0, fires.len()).await?;
    let start = |fire: &Fire| {
        let run = runs
            .get(&fire.task)
            .with_context(|| format!("task {} has no run in the log", fire.task))?;
        let began = Timestamp::from_microsecond(run.begin_us)?;
        Ok((began - planned).as_millis_f64())
    };
    fires.iter().map(start).collect()
}

fn lateness(report: &mut Report, name: &str, mut late_ms: Vec<f64>) {
    for (share, of) in [("p50", 0.5), ("p99", 0.99), ("max", 1.0)] {
        report.value(format!("{name} {share} ms"), percentile(&mut late_ms, of));
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of one measurement")]
fn whole(count: usize) -> f64 {
    count as f64
}
