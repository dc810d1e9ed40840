//! `gengfu submit`.

use std::time::Duration;

use anyhow::bail;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::client::Client;
use crate::commands::{payload, table};

/// How often a task that is waited for is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// What it takes.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The type.
    task_type: String,
    /// JSON, @FILE, or - for standard input.
    #[arg(long, value_name = "JSON|@FILE|-")]
    payload: Option<String>,
    /// critical, high, normal or low.
    #[arg(long)]
    tier: Option<String>,
    /// The same key is the same task.
    #[arg(long, value_name = "K")]
    idempotency_key: Option<String>,
    /// How long until it is due, such as 30s.
    #[arg(long, value_name = "D", conflicts_with = "at")]
    delay: Option<String>,
    /// When it is due, such as 2026-12-01T09:00:00+08:00.
    #[arg(long, value_name = "T")]
    at: Option<String>,
    /// Retries that it may spend.
    #[arg(long, value_name = "N")]
    max_retry: Option<u32>,
    /// Waits until it has ended; exit 1 if not in success.
    #[arg(long)]
    wait: bool,
}

/// The body; a payload that is JSON keeps its exact text.
fn body(args: &Args) -> anyhow::Result<Vec<u8>> {
    let mut fields = Map::new();
    fields.insert("task_type".into(), json!(args.task_type));
    for (name, value) in [
        ("tier", &args.tier),
        ("idempotency_key", &args.idempotency_key),
        ("delay", &args.delay),
        ("at", &args.at),
    ] {
        if let Some(value) = value {
            fields.insert(name.into(), json!(value));
        }
    }
    if let Some(limit) = args.max_retry {
        fields.insert("max_retry".into(), json!(limit));
    }
    let Some(argument) = &args.payload else {
        return Ok(Value::Object(fields).to_string().into_bytes());
    };
    let bytes = payload::read(argument)?;
    let mut text = Value::Object(fields).to_string();
    text.pop();
    match std::str::from_utf8(&bytes)
        .ok()
        .filter(|raw| serde_json::from_str::<&RawValue>(raw).is_ok())
    {
        Some(raw) => text.push_str(&format!(",\"payload\":{raw}}}")),
        None => {
            use base64::Engine;
            let encoded = base64::engine::general_purpose::STANDARD.encode(&bytes);
            text.push_str(&format!(",\"payload_base64\":\"{encoded}\"}}"));
        }
    }
    Ok(text.into_bytes())
}

pub(crate) async fn run(args: Args, client: &Client, json: bool) -> anyhow::Result<()> {
    let mut answer = client.post("/tasks", body(&args)?).await?;
    let id = answer["task_id"].as_str().unwrap_or_default().to_owned();
    let ended = |task: &Value| matches!(task["status"].as_str(), Some("success" | "dead" | "cancelled"));
    while args.wait && !ended(&answer) {
        tokio::time::sleep(LOOK_EVERY).await;
        answer = client.get_patiently(&format!("/tasks/{id}")).await?;
    }
    table::one(&answer, json)?;
    if args.wait && answer["status"] != "success" {
        bail!(
            "task {id} ended as {}",
            answer["status"].as_str().unwrap_or_default()
        );
    }
    Ok(())
}
