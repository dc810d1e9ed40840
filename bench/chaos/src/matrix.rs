//! The run: load, fault after fault until the time is over, drain, and the verdict.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::Args;
use gengfu_chaos::ledger;
use gengfu_integration_tests::Api;

use crate::cells::{Cell, Fault, Order, Target};
use crate::inject::{self, Injected};
use crate::load::Load;
use crate::random::Random;
use crate::report;
use crate::timelines;
use crate::town::Town;
use crate::verdict::{self, Verdict};

/// Before the first fault, and between a fault's end and the next one.
const CALM: Duration = Duration::from_secs(1);
/// Far more than the longest task with all its attempts takes.
const DRAIN_LIMIT: Duration = Duration::from_secs(180);
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// How long, and which faults.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Minutes under load and faults; the drain comes after them.
    #[arg(long, default_value_t = 10.0)]
    minutes: f64,
    /// The order of the faults and the load follow from it; one of its own if not given.
    #[arg(long)]
    seed: Option<u64>,
    /// Only the cells whose name has this text, such as `executor` or `redis SIGKILL`.
    #[arg(long, default_value = "")]
    only: String,
    /// Tasks a second.
    #[arg(long, default_value_t = 25)]
    rate: u32,
}

/// Breaks a town for a while; success if nothing was lost, stuck, done twice or ended wrongly.
pub(crate) async fn run(options: &Options) -> Result<ExitCode> {
    ensure!(
        options.minutes.is_finite() && options.minutes > 0.0 && options.minutes < 100_000.0,
        "--minutes {}: give a number above 0, such as 10 or 0.5",
        options.minutes
    );
    ensure!(
        Order::new(0)
            .take(Target::ALL.len() * Fault::ALL.len())
            .any(|cell| cell.to_string().contains(&options.only)),
        "--only {:?} is in the name of no cell: try executor, redis or SIGKILL",
        options.only
    );
    let seed = options
        .seed
        .unwrap_or_else(|| u64::from(std::process::id()) ^ ledger::now().as_secs());
    println!("seed {seed}: the same seed gives the same order of faults");
    let mut town = Town::start().await?;
    let load = Load::start(town.apis(), options.rate, seed);
    tokio::time::sleep(CALM).await;
    let faults = hurt(&mut town, options, seed).await?;
    let busy = report::is_busy();
    let accepted = load.stop().await?;
    town.wait_until_ready().await?;
    let api = town.apis().swap_remove(0);
    drain(&api).await?;
    let histories = timelines::read(&api, &accepted).await?;
    let lines = ledger::read(&town.ledger()).context("reading the ledger")?;
    let left_behind = report::processes_left(&town.ledger());
    let mut verdict = verdict::of(&accepted, &histories, &lines, &faults, left_behind);
    verdict.busy = busy;
    report::print(&verdict, seed);
    Ok(if verdict.is_clean() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// One fault after the other.
async fn hurt(town: &mut Town, options: &Options, seed: u64) -> Result<Vec<Injected>> {
    let time = Duration::from_secs_f64(options.minutes * 60.0);
    let (began, mut random) = (Instant::now(), Random::new(seed ^ 0xFA17));
    let mut faults = Vec::new();
    let mut refused = 0;
    let cells = || Order::new(seed).filter(|cell| cell.to_string().contains(&options.only));
    for cell in cells() {
        if began.elapsed() >= time {
            break;
        }
        println!("{:6.1} s  {cell}", began.elapsed().as_secs_f64());
        let mut fault = inject::inject(town, cell, &mut random)
            .await
            .with_context(|| cell.to_string())?;
        tokio::time::sleep(calm_after(cell)).await;
        let now_refused = tokio::task::block_in_place(|| town.refused())?;
        fault.refused = now_refused - refused;
        fault.ended = ledger::now();
        refused = now_refused;
        faults.push(fault);
    }
    Ok(faults)
}

/// What a killed executor ran begins again after its lease; a fault meanwhile would make it later.
fn calm_after(cell: Cell) -> Duration {
    if cell.target == Target::Executor && cell.fault == Fault::Kill {
        return Verdict::recovery_bound();
    }
    CALM
}

/// Waits until every task has ended, or the limit is over: then the verdict names those that are stuck.
async fn drain(api: &Api) -> Result<()> {
    let since = Instant::now();
    while since.elapsed() < DRAIN_LIMIT {
        let stats = api.get("/api/v1/stats").await?.json();
        let open = ["pending", "running", "failed", "retrying", "timeout"];
        let open: u64 = open
            .iter()
            .filter_map(|status| stats["tasks"][status].as_u64())
            .sum();
        if open == 0 && stats["tasks"].is_object() {
            println!(
                "drained {:.1} s after the last submission",
                since.elapsed().as_secs_f64()
            );
            return Ok(());
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    println!("not drained within {DRAIN_LIMIT:?}");
    Ok(())
}
