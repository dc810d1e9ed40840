//! `gengfu type`.

use anyhow::bail;
use clap::Subcommand;
use serde_json::{Map, Value, json};

use crate::client::Client;
use crate::commands::table;

/// What can be done.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Lists the types.
    List,
    /// Shows a type.
    Show { name: String },
    /// Starts none of its tasks any more.
    Pause {
        name: String,
        #[arg(long, default_value = "")]
        reason: String,
    },
    /// Starts its tasks again.
    Resume {
        name: String,
        #[arg(long, default_value = "")]
        reason: String,
    },
    /// Changes fields, such as max_retry=5; null takes one out.
    Set {
        name: String,
        #[arg(required = true, value_name = "FIELD=VALUE")]
        fields: Vec<String>,
    },
}

async fn switch(client: &Client, name: &str, verb: &str, reason: &str) -> anyhow::Result<Value> {
    client
        .post(
            &format!("/types/{name}/{verb}"),
            json!({"reason": reason}).to_string().into_bytes(),
        )
        .await
}

pub(crate) async fn run(command: Command, client: &Client, json: bool) -> anyhow::Result<()> {
    let answer = match command {
        Command::List => {
            let columns = ["name", "handler", "pool", "tier", "run_timeout", "paused"];
            return table::list(&client.get("/types", &[]).await?, &columns, json);
        }
        Command::Show { name } => client.get(&format!("/types/{name}"), &[]).await?,
        Command::Pause { name, reason } => switch(client, &name, "pause", &reason).await?,
        Command::Resume { name, reason } => switch(client, &name, "resume", &reason).await?,
        Command::Set { name, fields } => {
            let mut change = Map::new();
            for field in fields {
                let Some((field, value)) = field.split_once('=') else {
                    bail!("{field:?} has no '='; write max_retry=5");
                };
                let value = serde_json::from_str(value).unwrap_or_else(|_| json!(value));
                change.insert(field.to_owned(), value);
            }
            client
                .patch(&format!("/types/{name}"), &Value::Object(change))
                .await?
        }
    };
    table::one(&answer, json)
}
