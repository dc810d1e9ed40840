//! `gengfu apply`.

use std::path::PathBuf;

use serde_json::Value;

use crate::client::{Client, line};
use crate::commands::definitions;

/// What it takes.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Files of definitions (YAML or JSON), or - for standard input.
    #[arg(short = 'f', long = "file", required = true, num_args = 1.., value_name = "FILE")]
    file: Vec<PathBuf>,
    /// Only says what would change.
    #[arg(long)]
    dry_run: bool,
}

pub(crate) async fn run(args: Args, client: &Client, json: bool) -> anyhow::Result<()> {
    let mut body = definitions::read(&args.file)?;
    body.insert("dry_run".into(), Value::Bool(args.dry_run));
    let answer = client
        .post("/apply", Value::Object(body).to_string().into_bytes())
        .await?;
    if json {
        return line(&answer.to_string());
    }
    for change in answer["changes"].as_array().into_iter().flatten() {
        for told in told(change, args.dry_run) {
            line(&told)?;
        }
    }
    Ok(())
}

/// `type room.notify: changed`, then a line for each field.
fn told(change: &Value, dry_run: bool) -> Vec<String> {
    let text = |name: &str| change[name].as_str().unwrap_or_default();
    let would = if dry_run { " (dry run)" } else { "" };
    let mut lines = vec![format!(
        "{} {}: {}{would}",
        text("kind"),
        text("name"),
        text("change")
    )];
    for field in change["fields"].as_array().into_iter().flatten() {
        let name = field["field"].as_str().unwrap_or_default();
        lines.push(format!("  {name}: {} -> {}", field["from"], field["to"]));
    }
    lines
}
