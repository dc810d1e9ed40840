//! `gengfu batch`: a file becomes tasks, one a row. The file is checked whole before anything is submitted.

mod cells;
mod records;
mod rows;
mod send;
mod source;

use std::path::PathBuf;
use std::time::Duration;

use admission::KnownType;
use anyhow::{Context, anyhow, bail};
use domain::{Status, TaskId, TypeSpec};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Map, Value, json};

use crate::client::{Client, line};
use rows::Rows;
use source::Source;

/// How often a batch that is waited for is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// What it takes.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The type of every task.
    task_type: String,
    /// A file that ends in .csv or .jsonl, or - for CSV on standard input.
    file: PathBuf,
    /// How the file is encoded, such as gbk.
    #[arg(long, default_value = "utf-8", value_name = "E")]
    encoding: String,
    /// What parts the cells of a CSV file.
    #[arg(long, default_value = ",", value_name = "C")]
    delimiter: String,
    /// Which column gives a field, where they have different names.
    #[arg(long, value_delimiter = ',', value_name = "FIELD=COLUMN")]
    map: Vec<String>,
    /// A task of this type when all have ended.
    #[arg(long, value_name = "TYPE")]
    then: Option<String>,
    /// Goes on with a batch that was interrupted; rows that are stored already stay as they are.
    #[arg(long, value_name = "BATCH_ID")]
    resume: Option<TaskId>,
    /// Waits until every task has ended.
    #[arg(long)]
    wait: bool,
}

/// What stands in the file, and how its rows are read.
pub(crate) struct Plan {
    pub(crate) source: Source,
    pub(crate) known: KnownType,
    pub(crate) delimiter: u8,
    /// Field by column.
    pub(crate) renamed: Vec<(String, String)>,
    pub(crate) batch: TaskId,
}

pub(crate) async fn run(args: Args, client: &Client, json: bool) -> anyhow::Result<()> {
    if args.then.is_some() {
        bail!("--then is not served by this version; start the next task when gengfu batch --wait has ended");
    }
    let spec = client.get(&format!("/types/{}", args.task_type), &[]).await?;
    let spec: TypeSpec =
        serde_json::from_value(spec).context("the gateway shows a type that this version can't read")?;
    let plan = plan(&args, spec)?;
    let rows = Rows::open(&plan)?.try_fold(0_u64, |count, row| row.map(|_| count + 1))?;
    let bar = bar(rows);
    let sent = send::send(&plan, client, &bar).await?;
    bar.finish_and_clear();
    let mut answer = Map::new();
    answer.insert("batch_id".into(), json!(plan.batch));
    answer.insert("rows".into(), json!(rows));
    answer.insert("submitted".into(), json!(sent.submitted));
    answer.insert("rejected".into(), json!(sent.rejected));
    if args.wait {
        let counts = wait(client, plan.batch, rows).await?;
        answer.extend(Status::ALL.iter().map(|status| {
            (
                status.as_str().to_owned(),
                json!(counts[status.as_str()].as_u64().unwrap_or(0)),
            )
        }));
    }
    if json {
        line(&Value::Object(answer).to_string());
    } else {
        let parts: Vec<_> = answer
            .iter()
            .map(|(name, value)| format!("{name} {}", value.to_string().trim_matches('"')))
            .collect();
        line(&parts.join(", "));
    }
    Ok(())
}

fn plan(args: &Args, spec: TypeSpec) -> anyhow::Result<Plan> {
    let [delimiter] = *args.delimiter.replace("\\t", "\t").as_bytes() else {
        bail!("--delimiter {:?} is not one character", args.delimiter);
    };
    let pair = |text: &String| {
        let (field, column) = text
            .split_once('=')
            .ok_or_else(|| anyhow!("--map {text:?} has no '='; write field=column"))?;
        Ok((field.to_owned(), column.to_owned()))
    };
    let renamed = args.map.iter().map(pair).collect::<anyhow::Result<_>>()?;
    let mut random = [0; 10];
    getrandom::fill(&mut random).map_err(|error| anyhow!("no random bytes: {error}"))?;
    Ok(Plan {
        source: Source::open(&args.file, &args.encoding)?,
        known: KnownType::new(spec).map_err(|error| anyhow!("{error}"))?,
        delimiter,
        renamed,
        batch: args
            .resume
            .unwrap_or_else(|| TaskId::new(runtime::clock::now_ms(), random)),
    })
}

/// On a terminal only: `ProgressBar` draws nothing elsewhere.
fn bar(rows: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} rows, {per_sec}, {eta} left");
    style.map_or_else(
        |_| ProgressBar::hidden(),
        |style| ProgressBar::new(rows).with_style(style),
    )
}

async fn wait(client: &Client, batch: TaskId, rows: u64) -> anyhow::Result<Value> {
    if rows == 0 {
        return Ok(Value::Null);
    }
    loop {
        let shown = client.get(&format!("/batches/{batch}"), &[]).await?;
        if shown["finished"] == json!(true) && shown["total"].as_u64() >= Some(rows) {
            return Ok(shown["counts"].clone());
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
