//! The operator's commands.

use std::io::Write;
use std::process::ExitCode;

use clap::Subcommand;

use crate::client::{Client, Global};
use crate::usage::Usage;
use crate::{batch, commands, import};

/// What an operator does; most of it talks to a gateway.
#[derive(Subcommand)]
pub(crate) enum ClientCommand {
    /// Declares types, calendars and schedules (YAML) and prints what changes.
    Apply(commands::apply::Args),
    /// Submits one task.
    Submit(commands::submit::Args),
    /// Submits a file, one task a row.
    Batch(batch::Args),
    /// Shows and stops batches.
    #[command(subcommand)]
    Batches(commands::batches::Command),
    /// Shows and changes tasks.
    #[command(subcommand)]
    Task(commands::task::Command),
    /// Shows, pauses and changes types.
    #[command(subcommand)]
    Type(commands::types::Command),
    /// Shows, tries out and steers schedules.
    #[command(subcommand)]
    Schedule(commands::schedule::Command),
    /// Prints definitions out of what another scheduler was told; needs no server.
    #[command(subcommand)]
    Import(import::Command),
    /// Proves that nothing was lost, doubled or muddled, out of store, outbox and events; exit 1 on any exception.
    Audit(commands::audit::Args),
    /// Shows dead letters.
    #[command(subcommand)]
    Dead(commands::dead::Command),
}

/// Runs a command: exit 0 done, 1 failed, 2 wrong use.
pub(crate) fn run(command: ClientCommand, global: &Global) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return role::refuse(&format!("no runtime: {error}")),
    };
    match runtime.block_on(play(command, global)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "gengfu: {error:#}");
            if error.is::<Usage>() {
                ExitCode::from(2)
            } else {
                ExitCode::FAILURE
            }
        }
    }
}

async fn play(command: ClientCommand, global: &Global) -> anyhow::Result<()> {
    let client = Client::new(global)?;
    match command {
        ClientCommand::Apply(args) => commands::apply::run(args, &client, global.json).await,
        ClientCommand::Submit(args) => commands::submit::run(args, &client, global.json).await,
        ClientCommand::Batch(args) => batch::run(args, &client, global.json).await,
        ClientCommand::Batches(command) => commands::batches::run(command, &client, global.json).await,
        ClientCommand::Task(command) => commands::task::run(command, &client, global.json).await,
        ClientCommand::Type(command) => commands::types::run(command, &client, global.json).await,
        ClientCommand::Schedule(command) => commands::schedule::run(command, &client, global.json).await,
        ClientCommand::Import(command) => import::run(&command, global.json),
        ClientCommand::Audit(args) => commands::audit::run(args, &client, global.json).await,
        ClientCommand::Dead(command) => commands::dead::run(command, &client, global.json).await,
    }
}
