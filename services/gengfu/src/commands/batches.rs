//! `gengfu batches`.

use clap::Subcommand;
use serde_json::{Map, Value, json};

use crate::client::Client;
use crate::commands::pages::gather;
use crate::commands::table;

/// What can be done.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Lists the batches of late.
    List {
        /// At most about so many.
        #[arg(long, default_value_t = 20)]
        limit: u64,
        #[arg(long)]
        cursor: Option<String>,
    },
    /// Shows the counts of a batch.
    Show { id: String },
    /// Stops every task of a batch that has not ended.
    Cancel {
        id: String,
        #[arg(long, default_value = "")]
        reason: String,
    },
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
        Command::List { limit, cursor } => {
            let columns = ["batch_id", "total", "finished", "counts"];
            table::list(
                &gather(client, "/batches", &[], limit, cursor).await?,
                &columns,
                json,
            )
        }
        Command::Show { id } => table::one(&client.get(&format!("/batches/{id}"), &[]).await?, json),
        Command::Cancel { id, reason } => table::one(&cancel(client, &id, &reason).await?, json),
        Command::Results { id, format } => {
            client
                .copy(&format!("/batches/{id}/results"), &[("format", format)])
                .await
        }
    }
}

/// A bounded number of tasks in one request, until the batch is through.
async fn cancel(client: &Client, id: &str, reason: &str) -> anyhow::Result<Value> {
    let body = json!({"reason": reason}).to_string();
    let mut sum: Map<String, Value> = Map::new();
    let mut path = format!("/batches/{id}/cancel");
    loop {
        let answer = client.post(&path, body.clone().into_bytes()).await?;
        for name in ["cancelled", "stopping", "ended"] {
            let before = sum.get(name).and_then(Value::as_u64).unwrap_or(0);
            sum.insert(name.into(), json!(before + answer[name].as_u64().unwrap_or(0)));
        }
        match answer["next"].as_str() {
            Some(next) => path = format!("/batches/{id}/cancel?cursor={next}"),
            None => return Ok(Value::Object(sum)),
        }
    }
}
