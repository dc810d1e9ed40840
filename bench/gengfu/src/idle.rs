//! What schedules cost that have nothing to do: commands of Redis, CPU of the scheduler, bytes.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::Args;
use jiff::{Timestamp, ToSpan, tz::TimeZone};

use crate::{report::Report, role::cpu_seconds, schedules, town::Town};

/// What the roles do at their start is over by then.
const SETTLE: Duration = Duration::from_secs(5);

/// How much is measured.
#[derive(Args)]
pub(crate) struct Options {
    /// Schedules of the first look.
    #[arg(long, default_value_t = 1_000)]
    few: usize,
    /// Schedules of the second look.
    #[arg(long, default_value_t = 100_000)]
    many: usize,
    /// How long each look lasts, in seconds.
    #[arg(long, default_value_t = 20)]
    seconds: u64,
}

/// What one look saw.
struct Look {
    commands: f64,
    scheduler: f64,
    redis: f64,
}

pub(crate) async fn run(options: &Options) -> Result<()> {
    ensure!(
        options.few > 0 && options.many > options.few && options.seconds > 0,
        "--few and --seconds are at least 1, --many is more than --few"
    );
    let mut report = Report::default();
    let mut town = Town::start().await?;
    town.role("scheduler")?.address().await?;
    town.start_role("executor")?;
    // Due a month before now, so that none comes up meanwhile.
    let month = (Timestamp::now().to_zoned_datetime(TimeZone::UTC) - 1.month()).month();
    let cron = format!("0 9 1 {month} *");
    schedules::declare(&town.api, 0..options.few, &cron).await?;
    let (few, small) = (look(&town, options).await?, used_bytes(&town)?);
    schedules::declare(&town.api, options.few..options.many, &cron).await?;
    let (many, large) = (look(&town, options).await?, used_bytes(&town)?);
    for (count, look) in [(options.few, &few), (options.many, &many)] {
        report.value(format!("redis commands /s, {count} schedules"), look.commands);
        report.value(
            format!("scheduler % of a core, {count} schedules"),
            look.scheduler,
        );
        report.value(format!("redis % of a core, {count} schedules"), look.redis);
    }
    report.value(
        "redis commands, many to few".to_owned(),
        many.commands / few.commands,
    );
    #[expect(clippy::cast_precision_loss, reason = "counts of one measurement")]
    let bytes = (large - small) / (options.many - options.few) as f64;
    report.value("bytes of redis a schedule".to_owned(), bytes);
    report.memory("memory", town.memory()?);
    report.print(&[("few", options.few), ("many", options.many)])
}

async fn look(town: &Town, options: &Options) -> Result<Look> {
    tokio::time::sleep(SETTLE).await;
    let cpu = |pid: u32| cpu_seconds(pid);
    let (scheduler, redis) = (town.role("scheduler")?.pid(), town.redis_pid()?);
    let (began, commands) = (Instant::now(), town.redis_info("total_commands_processed")?);
    let before = (cpu(scheduler)?, cpu(redis)?);
    tokio::time::sleep(Duration::from_secs(options.seconds)).await;
    let seconds = began.elapsed().as_secs_f64();
    Ok(Look {
        commands: (town.redis_info("total_commands_processed")? - commands) / seconds,
        scheduler: (cpu(scheduler)? - before.0) / seconds * 100.0,
        redis: (cpu(redis)? - before.1) / seconds * 100.0,
    })
}

fn used_bytes(town: &Town) -> Result<f64> {
    town.redis_info("used_memory").context("memory in use")
}
