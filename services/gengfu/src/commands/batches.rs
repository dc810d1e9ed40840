//! `gengfu batches`.

use clap::Subcommand;

use crate::client::{Client, out};
use crate::commands::table;

/// What can be done.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Lists the batches of late.
    List,
    /// Shows the counts of a batch.
    Show { id: String },
    /// Stops every task of a batch that has not ended.
    Cancel { id: String },
    /// Writes each row with its outcome.
    Results {
        id: String,
        /// json, jsonl or csv.
        #[arg(long, default_value = "jsonl")]
        format: String,
    },
}

pub(crate) async fn run(command: Command, client: &Client, json: bool) -> anyhow::Result<()> {
    match command {
        Command::List => table::list(
            &client.get("/batches", &[]).await?,
            &["batch_id", "total", "finished", "counts"],
            json,
        ),
        Command::Show { id } => table::one(&client.get(&format!("/batches/{id}"), &[]).await?, json),
        Command::Cancel { id } => table::one(
            &client
                .post(&format!("/batches/{id}/cancel"), b"{}".to_vec())
                .await?,
            json,
        ),
        Command::Results { id, format } => out(&client
            .bytes(&format!("/batches/{id}/results"), &[("format", format)])
            .await?),
    }
    Ok(())
}
