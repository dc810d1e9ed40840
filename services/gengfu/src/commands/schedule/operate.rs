//! What an operator does to one schedule: pause, resume, trigger, backfill.

use anyhow::Context;
use calendar::Timestamp;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::client::Client;
use crate::commands::{instant, payload, table};
use crate::usage::Usage;

/// A schedule, and why.
#[derive(clap::Args)]
pub(crate) struct SwitchArgs {
    /// Its name.
    name: String,
    /// Why; shown beside the schedule.
    #[arg(long, default_value = "")]
    reason: String,
}

/// What a trigger takes.
#[derive(clap::Args)]
pub(crate) struct TriggerArgs {
    /// Its name.
    name: String,
    /// A payload in place of the schedule's own: JSON, @FILE or - for standard input.
    #[arg(long, value_name = "JSON|@FILE|-")]
    payload: Option<String>,
    /// The same key is the same task.
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// Why; kept in the task's timeline.
    #[arg(long, default_value = "")]
    reason: String,
}

/// What a backfill takes.
#[derive(clap::Args)]
pub(crate) struct BackfillArgs {
    /// Its name.
    name: String,
    /// Where it begins.
    #[arg(long, value_name = "INSTANT", value_parser = instant::parse)]
    from: Timestamp,
    /// Where it ends; excluded.
    #[arg(long, value_name = "INSTANT", value_parser = instant::parse)]
    to: Timestamp,
    /// How many tasks a time, such as 10/m; all at once if not given.
    #[arg(long, value_name = "N/D")]
    rate: Option<String>,
    /// Only says what would fire.
    #[arg(long)]
    dry_run: bool,
    /// Why; kept in the tasks' timelines.
    #[arg(long, default_value = "")]
    reason: String,
}

pub(crate) async fn switch(args: SwitchArgs, verb: &str, client: &Client, json: bool) -> anyhow::Result<()> {
    let body = json!({"reason": args.reason}).to_string();
    let path = format!("/schedules/{}/{verb}", args.name);
    table::one(&client.post(&path, body.into_bytes()).await?, json)
}

pub(crate) async fn trigger(args: TriggerArgs, client: &Client, json: bool) -> anyhow::Result<()> {
    let mut body = Map::new();
    body.insert("reason".into(), json!(args.reason));
    if let Some(key) = args.idempotency_key {
        body.insert("idempotency_key".into(), json!(key));
    }
    let mut text = Value::Object(body).to_string();
    if let Some(payload) = args.payload {
        let bytes = payload::read(&payload)?;
        let exact: &RawValue = serde_json::from_slice(&bytes)
            .map_err(|error| Usage::new("--payload", &error, "write JSON, as in {\"a\": 1}"))?;
        // Its exact text goes, number by number.
        text.truncate(text.len() - 1);
        text = format!("{text},\"payload\":{}}}", exact.get());
    }
    let path = format!("/schedules/{}/trigger", args.name);
    let answer = client.post(&path, text.into_bytes()).await;
    table::one(&answer.context("the schedule was not triggered")?, json)
}

pub(crate) async fn backfill(args: BackfillArgs, client: &Client, json: bool) -> anyhow::Result<()> {
    if args.to <= args.from {
        let said = format!("--to: {} is not after --from; give a later instant", args.to);
        return Err(Usage::said(said).into());
    }
    let path = format!("/schedules/{}/backfill", args.name);
    let body = json!({
        "from": args.from.to_string(), "to": args.to.to_string(), "rate": args.rate,
        "dry_run": args.dry_run, "reason": args.reason,
    });
    table::one(&client.post(&path, body.to_string().into_bytes()).await?, json)
}
