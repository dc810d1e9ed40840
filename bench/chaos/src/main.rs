//! The kill matrix: a town of at least two replicas of each service under a load of mixed tasks, while its parts are
//! killed, stopped, restarted and cut off; then what became of every task is compared with a ledger outside the town.
#![allow(clippy::print_stdout, reason = "printing the report is its work")]

mod cells;
mod inject;
mod load;
mod matrix;
mod random;
mod report;
mod timelines;
mod town;
mod verdict;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// Breaks a town, and checks that nothing was lost, stuck or done twice.
#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// The kill matrix; the last line is one JSON object.
    Matrix(matrix::Options),
    /// What a run of the load does as a program; the town starts it.
    #[command(hide = true)]
    Act,
}

fn main() -> Result<ExitCode> {
    match Cli::parse().what {
        What::Act => gengfu_chaos::act::program().map(|()| ExitCode::SUCCESS),
        What::Matrix(options) => tokio::runtime::Runtime::new()?.block_on(matrix::run(&options)),
    }
}
