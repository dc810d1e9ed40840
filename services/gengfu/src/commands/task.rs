//! `gengfu task`.

use clap::Subcommand;
use serde_json::{Map, Value, json};

use crate::client::{Client, line};
use crate::commands::pages::gather;
use crate::commands::{explain, table};

/// What can be done.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Shows a task.
    Get {
        id: String,
        /// Writes the payload's bytes alone.
        #[arg(long)]
        payload: bool,
        /// Writes the result's bytes alone.
        #[arg(long, conflicts_with = "payload")]
        result: bool,
    },
    /// Lists tasks, the newest first.
    List(Filter),
    /// Shows every transition of a task.
    Timeline { id: String },
    /// Says why a task stands where it stands, and what to do about it.
    Explain { id: String },
    /// Shows what the handler printed.
    Logs {
        id: String,
        #[arg(long, value_name = "N")]
        attempt: Option<u32>,
    },
    /// Runs a dead or cancelled task again.
    Retry(Operate),
    /// Stops a task.
    Cancel {
        id: String,
        #[arg(long, default_value = "")]
        reason: String,
    },
    /// Makes a task due now; its run is ended first.
    Reset(Operate),
    /// Changes fields of a task.
    Set(Fields),
}

/// What to change.
#[derive(clap::Args)]
pub(crate) struct Fields {
    id: String,
    #[arg(long, value_name = "N")]
    max_retry: Option<u16>,
    /// When it is due, such as 2026-12-01T09:00:00+08:00.
    #[arg(long, value_name = "T")]
    next_run_time: Option<String>,
    #[arg(long, value_name = "D")]
    run_timeout: Option<String>,
    #[arg(long, default_value = "")]
    reason: String,
}

/// An operation and its reason.
#[derive(clap::Args)]
pub(crate) struct Operate {
    id: String,
    #[arg(long, value_name = "N")]
    max_retry: Option<u16>,
    #[arg(long, default_value = "")]
    reason: String,
}

/// Which tasks.
#[derive(clap::Args)]
pub(crate) struct Filter {
    #[arg(long = "type")]
    task_type: Option<String>,
    #[arg(long)]
    status: Option<String>,
    #[arg(long)]
    tier: Option<String>,
    #[arg(long)]
    batch: Option<String>,
    #[arg(long)]
    schedule: Option<String>,
    #[arg(long)]
    error_code: Option<String>,
    #[arg(long)]
    since: Option<String>,
    #[arg(long)]
    until: Option<String>,
    /// At most so many.
    #[arg(long, default_value_t = 50)]
    limit: u64,
    #[arg(long)]
    cursor: Option<String>,
}

impl Filter {
    fn query(&self) -> Vec<(&'static str, String)> {
        let given = [
            ("type", &self.task_type),
            ("status", &self.status),
            ("tier", &self.tier),
            ("batch", &self.batch),
            ("schedule", &self.schedule),
            ("error_code", &self.error_code),
            ("since", &self.since),
            ("until", &self.until),
        ];
        given
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.clone()?)))
            .collect()
    }
}

const LIST: [&str; 7] = [
    "task_id",
    "task_type",
    "status",
    "attempt",
    "create_time",
    "error_code",
    "input_info",
];
const TIMELINE: [&str; 10] = [
    "version",
    "from",
    "to",
    "at",
    "attempt",
    "actor",
    "node",
    "reason",
    "error_class",
    "error_code",
];

pub(crate) async fn run(command: Command, client: &Client, json: bool) -> anyhow::Result<()> {
    match command {
        Command::Get {
            id, payload: true, ..
        } => client.copy(&format!("/tasks/{id}/payload"), &[]).await,
        Command::Get { id, result: true, .. } => client.copy(&format!("/tasks/{id}/result"), &[]).await,
        // The body as it is: a payload keeps its exact text.
        Command::Get { id, .. } if json => {
            client.copy(&format!("/tasks/{id}"), &[]).await?;
            line("")
        }
        Command::Get { id, .. } => table::one(&client.get(&format!("/tasks/{id}"), &[]).await?, json),
        Command::List(filter) => {
            let query = filter.query();
            table::list(
                &gather(client, "/tasks", &query, filter.limit, filter.cursor).await?,
                &LIST,
                json,
            )
        }
        Command::Timeline { id } => table::list(
            &client.get(&format!("/tasks/{id}/timeline"), &[]).await?,
            &TIMELINE,
            json,
        ),
        Command::Explain { id } => {
            explain::show(&client.get(&format!("/tasks/{id}/explain"), &[]).await?, json)
        }
        Command::Logs { id, attempt } => {
            let query = attempt.map(|attempt| ("attempt", attempt.to_string()));
            client.copy(&format!("/tasks/{id}/logs"), query.as_slice()).await
        }
        Command::Retry(of) => operate(client, "retry", of, json).await,
        Command::Reset(of) => operate(client, "reset", of, json).await,
        Command::Cancel { id, reason } => {
            operate(
                client,
                "cancel",
                Operate {
                    id,
                    max_retry: None,
                    reason,
                },
                json,
            )
            .await
        }
        Command::Set(fields) => set(client, fields, json).await,
    }
}

async fn operate(client: &Client, verb: &str, of: Operate, json: bool) -> anyhow::Result<()> {
    let mut body = json!({"reason": of.reason});
    if let Some(limit) = of.max_retry {
        body["max_retry"] = json!(limit);
    }
    let path = format!("/tasks/{}/{verb}", of.id);
    table::one(&client.post(&path, body.to_string().into_bytes()).await?, json)
}

async fn set(client: &Client, fields: Fields, json: bool) -> anyhow::Result<()> {
    let given = [
        ("max_retry", fields.max_retry.map(|limit| json!(limit))),
        ("next_run_time", fields.next_run_time.map(Value::String)),
        ("run_timeout", fields.run_timeout.map(Value::String)),
        ("reason", Some(Value::String(fields.reason))),
    ];
    let given = given
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)));
    let body = Value::Object(given.collect::<Map<_, _>>());
    table::one(
        &client.patch(&format!("/tasks/{}", fields.id), &body).await?,
        json,
    )
}
