//! Measures the town as a whole: real servers, real processes of the release build, a load of known size.
//!
//! Everything runs on this machine over loopback, AOF everysec and JetStream on file, with logs on. The rules of the
//! measure are those of `peers/drive.py`, so that the figures stand beside those of other systems.
#![allow(clippy::print_stdout, reason = "printing the report is its work")]

mod fires;
mod idle;
mod latency;
mod ledger;
mod load;
mod report;
mod role;
mod schedules;
mod throughput;
mod town;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// Measures the town; the last line is one JSON object.
#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Submit, drain, both at once, and the latency at 100 tasks a second.
    Throughput(throughput::Options),
    /// Many schedules that are due at the same second: each fires once, and how late.
    Fires(fires::Options),
    /// What many schedules cost that have nothing to do.
    Idle(idle::Options),
}

#[tokio::main]
async fn main() -> Result<()> {
    match Cli::parse().what {
        What::Throughput(options) => throughput::run(&options).await,
        What::Fires(options) => fires::run(&options).await,
        What::Idle(options) => idle::run(&options).await,
    }
}
