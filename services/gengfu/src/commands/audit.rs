//! `gengfu audit`: proves the invariants, and lists what breaks them.

use anyhow::{Context, bail};
use serde_json::Value;

use crate::client::{Client, line, note};
use crate::commands::table::{cell, rows};

/// What is looked at.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only what happened since: how long ago (24h), a day, or an instant.
    #[arg(long, value_name = "D")]
    since: Option<String>,
}

pub(crate) async fn run(args: Args, client: &Client, json: bool) -> anyhow::Result<()> {
    let query = args.since.map(|since| ("since", since));
    let mut report = Value::Null;
    client
        .lines("/audit", query.as_slice(), |told: Value| {
            if let Some(error) = told["error"].as_str() {
                bail!("the audit could not be ended, so nothing is proved: {error}");
            }
            if told["report"].is_object() {
                report = told["report"].clone();
            } else if !json {
                note(&format!(
                    "partition {} of {}",
                    cell(&told["partition"]),
                    cell(&told["of"])
                ));
            }
            Ok(())
        })
        .await?;
    if report.is_null() {
        bail!("the answer broke off before the audit ended, so nothing is proved");
    }
    if json {
        line(&report.to_string())?;
    } else {
        show(&report)?;
    }
    match report["exceptions_total"]
        .as_u64()
        .context("the report has no total")?
    {
        0 => Ok(()),
        1 => bail!("1 exception"),
        many => bail!("{many} exceptions"),
    }
}

fn show(report: &Value) -> anyhow::Result<()> {
    for (name, title) in [
        ("looked_at", "looked at"),
        ("in_flight", "on its way"),
        ("trimmed", "gone from the stream by age or size"),
    ] {
        for (what, count) in report[name].as_object().into_iter().flatten() {
            line(&format!("{title}: {count} {what}"))?;
        }
    }
    let exceptions = report["exceptions"].as_array().map_or(&[][..], Vec::as_slice);
    if exceptions.is_empty() {
        return line("I1 to I7, I9 and I10 hold, as far as they can be read");
    }
    rows(exceptions, &["invariant", "about", "text"])?;
    let total = report["exceptions_total"].as_u64().unwrap_or(0);
    match total.saturating_sub(exceptions.len() as u64) {
        0 => Ok(()),
        more => line(&format!("and {more} more")),
    }
}
