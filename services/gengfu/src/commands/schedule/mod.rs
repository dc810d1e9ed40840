//! `gengfu schedule`.

mod preview;
mod simulate;

use clap::Subcommand;

/// What can be done.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Shows when an expression fires; needs no server.
    Preview(preview::Args),
    /// Runs schedules on a virtual clock; needs no server.
    Simulate(simulate::Args),
}

pub(crate) fn run(command: Command, json: bool) -> anyhow::Result<()> {
    match command {
        Command::Preview(args) => preview::run(&args, json),
        Command::Simulate(args) => simulate::run(&args, json),
    }
}
