//! `gengfu dead`.

use clap::Subcommand;

use crate::client::Client;
use crate::commands::pages::gather;
use crate::commands::table;

/// What can be done.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Lists dead letters, the newest first.
    List {
        #[arg(long = "type")]
        task_type: Option<String>,
        #[arg(long)]
        error_code: Option<String>,
        #[arg(long)]
        since: Option<String>,
        /// At most so many.
        #[arg(long, default_value_t = 50)]
        limit: u64,
        #[arg(long)]
        cursor: Option<String>,
    },
}

pub(crate) async fn run(command: Command, client: &Client, json: bool) -> anyhow::Result<()> {
    let Command::List {
        task_type,
        error_code,
        since,
        limit,
        cursor,
    } = command;
    let given = [("type", task_type), ("error_code", error_code), ("since", since)];
    let query: Vec<_> = given
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect();
    let columns = [
        "task_id",
        "task_type",
        "attempt",
        "finished_at",
        "error_class",
        "error_code",
        "error",
    ];
    table::list(
        &gather(client, "/dead", &query, limit, cursor).await?,
        &columns,
        json,
    )
}
