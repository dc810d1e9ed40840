//! `gengfu apply`.

use std::path::PathBuf;

use serde_json::Value;

use crate::client::{Client, line, note};
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
    /// Deletes every schedule that the files don't name; they must have the key schedules.
    #[arg(long)]
    prune: bool,
}

pub(crate) async fn run(args: Args, client: &Client, json: bool) -> anyhow::Result<()> {
    let mut body = definitions::read(&args.file)?;
    body.insert("dry_run".into(), Value::Bool(args.dry_run));
    body.insert("prune".into(), Value::Bool(args.prune));
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
        for warning in change["warnings"].as_array().into_iter().flatten() {
            let name = change["name"].as_str().unwrap_or_default();
            note(&format!(
                "warning: {name}: {}",
                warning.as_str().unwrap_or_default()
            ));
        }
    }
    Ok(())
}

/// `type room.notify: changed`, then a line for each field, and for the fires that change.
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
    let fires = &change["fires"];
    let until = fires["until"].as_str().unwrap_or_default();
    for (side, words) in [("go", "go"), ("come", "come"), ("stay", "stay")] {
        let count = fires[side]["count"].as_u64().unwrap_or(0);
        if count == 0 {
            continue;
        }
        let first = fires[side]["first"].as_array().into_iter().flatten();
        let first: Vec<_> = first.filter_map(Value::as_str).collect();
        let more = if count > first.len() as u64 { ", …" } else { "" };
        lines.push(format!(
            "  {count} fires {words} until {until}: {}{more}",
            first.join(", ")
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_and_fires_are_told() {
        let change = json!({
            "kind": "schedule", "name": "a", "change": "changed",
            "fields": [{"field": "cron", "from": "0 9 * * *", "to": "0 10 * * *"}],
            "fires": {
                "go": {"count": 1, "first": ["2026-03-01T09:00:00Z"]},
                "come": {"count": 30, "first": ["2026-03-01T10:00:00Z"]},
                "stay": {"count": 0, "first": []},
                "until": "2026-03-31T00:00:00Z",
            },
        });
        assert_eq!(
            told(&change, true),
            [
                "schedule a: changed (dry run)",
                "  cron: \"0 9 * * *\" -> \"0 10 * * *\"",
                "  1 fires go until 2026-03-31T00:00:00Z: 2026-03-01T09:00:00Z",
                "  30 fires come until 2026-03-31T00:00:00Z: 2026-03-01T10:00:00Z, …",
            ]
        );
    }
}
