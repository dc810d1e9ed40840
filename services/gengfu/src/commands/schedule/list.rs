//! `gengfu schedule list` and `show`.

use serde_json::{Value, json};

use crate::client::{Client, line, note};
use crate::commands::pages::gather;
use crate::commands::table;

/// What a list takes.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only of this task type.
    #[arg(long = "type", value_name = "TYPE")]
    task_type: Option<String>,
    /// Only active, paused or finished ones.
    #[arg(long, value_parser = ["active", "paused", "finished"])]
    state: Option<String>,
    /// Only names that begin so.
    #[arg(long)]
    prefix: Option<String>,
    /// At most about so many.
    #[arg(long, default_value_t = 100)]
    limit: u64,
    #[arg(long)]
    cursor: Option<String>,
}

/// What to show.
#[derive(clap::Args)]
pub(crate) struct ShowArgs {
    /// Its name.
    name: String,
    /// Only its definition, as apply takes it.
    #[arg(long)]
    spec: bool,
}

pub(crate) async fn list(args: Args, client: &Client, json: bool) -> anyhow::Result<()> {
    let filters = [
        ("type", args.task_type),
        ("state", args.state),
        ("prefix", args.prefix),
    ];
    let filters = filters
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    let filters: Vec<_> = filters.collect();
    let mut answer = gather(client, "/schedules", &filters, args.limit, args.cursor).await?;
    if !json {
        answer["items"]
            .as_array_mut()
            .into_iter()
            .flatten()
            .for_each(say_when);
    }
    let columns = [
        "name",
        "type",
        "state",
        "when",
        "zone",
        "next_fire",
        "last_fire",
        "last_outcome",
    ];
    table::list(&answer, &columns, json)
}

/// One column for whatever says when; of fires that are batches the type of the rows is told.
fn say_when(item: &mut Value) {
    let when = match (&item["cron"], &item["every"], &item["at"]) {
        (Value::String(cron), _, _) => cron.clone(),
        (_, Value::String(every), _) => format!("every {every}"),
        (_, _, Value::String(at)) => format!("at {at}"),
        _ => String::new(),
    };
    item["when"] = json!(when);
    if let Some(each) = item["fan_out"]["each"].as_str() {
        item["type"] = json!(format!("{each} (a batch)"));
    }
}

pub(crate) async fn show(args: ShowArgs, client: &Client, json: bool) -> anyhow::Result<()> {
    let mut answer = client.get(&format!("/schedules/{}", args.name), &[]).await?;
    if args.spec {
        return line(&answer["spec"].to_string());
    }
    if !json {
        for warning in answer["warnings"].as_array().into_iter().flatten() {
            note(&format!("warning: {}", warning.as_str().unwrap_or_default()));
        }
        answer["warnings"] = Value::Null;
    }
    table::one(&answer, json)
}
