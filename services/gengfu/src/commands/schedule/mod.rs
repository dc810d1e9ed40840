//! `gengfu schedule`.

mod backlog;
mod history;
mod list;
mod operate;
mod preview;
mod simulate;

use clap::Subcommand;

use crate::client::Client;
use crate::commands::table;

/// What can be done.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Lists the schedules.
    List(list::Args),
    /// Shows a schedule, or with --spec only its definition.
    Show(list::ShowArgs),
    /// Shows when a schedule fires; of an expression it needs no server.
    Preview(preview::Args),
    /// Fires a schedule now, beside its planned instants.
    Trigger(operate::TriggerArgs),
    /// Lets a schedule fire nothing until it is resumed.
    Pause(operate::SwitchArgs),
    /// Lets a schedule fire again; its misfire policy decides about what came in between.
    Resume(operate::SwitchArgs),
    /// Shows what became of the planned instants.
    History(history::Args),
    /// Shows what was missed, and decides about it.
    Backlog(backlog::Args),
    /// Fires the planned instants of a time in the past that did not fire.
    Backfill(operate::BackfillArgs),
    /// Runs schedules on a virtual clock; needs no server.
    Simulate(simulate::Args),
    /// Deletes a schedule: it never fires again.
    Delete {
        /// Its name.
        name: String,
    },
}

pub(crate) async fn run(command: Command, client: &Client, json: bool) -> anyhow::Result<()> {
    match command {
        Command::List(args) => list::list(args, client, json).await,
        Command::Show(args) => list::show(args, client, json).await,
        Command::Preview(args) => preview::run(&args, client, json).await,
        Command::Trigger(args) => operate::trigger(args, client, json).await,
        Command::Pause(args) => operate::switch(args, "pause", client, json).await,
        Command::Resume(args) => operate::switch(args, "resume", client, json).await,
        Command::History(args) => history::run(args, client, json).await,
        Command::Backlog(args) => backlog::run(args, client, json).await,
        Command::Backfill(args) => operate::backfill(args, client, json).await,
        Command::Simulate(args) => simulate::run(&args, json),
        Command::Delete { name } => table::one(&client.delete(&format!("/schedules/{name}")).await?, json),
    }
}
