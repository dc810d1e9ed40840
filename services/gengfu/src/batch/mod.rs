//! `gengfu batch`: a file becomes tasks, one a row. The file is checked whole before anything is submitted.

mod open;
mod seal;
mod send;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::time::Duration;

use admission::KnownType;
use anyhow::{Context, anyhow, bail};
use domain::{Status, TaskId, TypeSpec};
use indicatif::{ProgressBar, ProgressStyle};
use plan::Format;
use rows::{Reader, Source};
use serde_json::{Map, Value, json};

use crate::client::{Client, line, note};

/// How often a batch that is waited for is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// What it takes.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The type of every task.
    task_type: String,
    /// A file that ends in .csv or .jsonl, or - for CSV on standard input.
    file: PathBuf,
    /// What a row is, where the file's name does not say it.
    #[arg(long, value_name = "csv|jsonl", value_parser = format)]
    format: Option<Format>,
    /// How the file is encoded, such as gbk.
    #[arg(long, default_value = "utf-8", value_name = "E")]
    encoding: String,
    /// What parts the cells of a CSV file.
    #[arg(long, default_value = ",", value_name = "C", value_parser = delimiter)]
    delimiter: char,
    /// Which column gives a field, where they have different names.
    #[arg(long, value_delimiter = ',', value_name = "FIELD=COLUMN", value_parser = rename)]
    map: Vec<Rename>,
    /// One task of this type when all have ended; the platform starts it, also where nobody waits.
    #[arg(long, value_name = "TYPE")]
    then: Option<String>,
    /// Goes on with a batch that was interrupted; rows that are stored already stay as they are.
    #[arg(long, value_name = "BATCH_ID")]
    resume: Option<TaskId>,
    /// Waits until every task has ended.
    #[arg(long)]
    wait: bool,
}

/// A field and the column that gives it.
type Rename = (String, String);

fn rename(text: &str) -> Result<Rename, String> {
    let (field, column) = text.split_once('=').ok_or("write field=column")?;
    Ok((field.trim().to_owned(), column.trim().to_owned()))
}

fn format(text: &str) -> Result<Format, String> {
    Format::named(text).ok_or_else(|| "write csv or jsonl".into())
}

fn delimiter(text: &str) -> Result<char, String> {
    match text.replace("\\t", "\t").as_bytes() {
        [b'"' | b'\r' | b'\n'] => Err("it has a meaning of its own".into()),
        [one] if one.is_ascii() => Ok(char::from(*one)),
        _ => Err("it is one ASCII character, such as ; or \\t".into()),
    }
}

/// What stands in the file, and how its rows are read.
pub(crate) struct Plan {
    pub(crate) source: Source,
    pub(crate) how: plan::Rows,
    pub(crate) known: KnownType,
    pub(crate) batch: TaskId,
}

impl Plan {
    pub(crate) fn rows(&self) -> anyhow::Result<Reader<'_>> {
        Reader::open(&self.source, &self.how, &self.known).map_err(open::told)
    }
}

pub(crate) async fn run(args: Args, client: &Client, json: bool) -> anyhow::Result<()> {
    if let Some(then) = &args.then {
        client
            .get(&format!("/types/{then}"), &[])
            .await
            .context("--then names the type of the task that follows")?;
    }
    let spec = client.get(&format!("/types/{}", args.task_type), &[]).await?;
    let spec: TypeSpec =
        serde_json::from_value(spec).context("the gateway shows a type that this version can't read")?;
    let checked = plan(&args, spec).and_then(|plan| Ok((plan.rows()?.count().map_err(open::told)?, plan)));
    let (rows, plan) = match checked {
        Ok(checked) => checked,
        Err(error) => return refuse(&error, json),
    };
    // Whoever interrupts this needs it.
    note(&format!("batch {}: {rows} rows", plan.batch));
    let bar = bar(rows);
    let sent = send::send(&plan, client, &bar).await?;
    bar.finish_and_clear();
    if let Some(then) = &args.then {
        seal::seal(&plan, client, sent.submitted + sent.rejected, then).await?;
    }
    let mut answer = Map::new();
    answer.insert("batch_id".into(), json!(plan.batch));
    answer.insert("rows".into(), json!(sent.submitted + sent.rejected));
    answer.insert("submitted".into(), json!(sent.submitted));
    answer.insert("rejected".into(), json!(sent.rejected));
    if args.wait {
        let counts = wait(client, plan.batch, rows).await?;
        let count = |status: &Status| {
            (
                status.as_str().to_owned(),
                json!(counts[status.as_str()].as_u64().unwrap_or(0)),
            )
        };
        answer.extend(Status::ALL.iter().map(count));
    }
    line(&if json {
        Value::Object(answer).to_string()
    } else {
        sentence(&answer)
    })
}

/// The whole file is refused before anything is submitted.
fn refuse(error: &anyhow::Error, json: bool) -> anyhow::Result<()> {
    if json {
        line(&json!({"refused": format!("{error:#}")}).to_string())?;
    }
    bail!("{error:#} (nothing was submitted)")
}

/// `batch ID: 3 rows, 3 submitted, 0 rejected`, and the counts that are not 0.
fn sentence(answer: &Map<String, Value>) -> String {
    let batch = answer["batch_id"].as_str().unwrap_or_default();
    let shown = |(name, value): (&String, &Value)| match (name.as_str(), value.as_u64()) {
        ("batch_id", _) | (_, None) => None,
        ("rows" | "submitted" | "rejected", Some(count)) | (_, Some(count @ 1..)) => {
            Some(format!("{count} {name}"))
        }
        (_, Some(0)) => None,
    };
    format!(
        "batch {batch}: {}",
        answer.iter().filter_map(shown).collect::<Vec<_>>().join(", ")
    )
}

fn plan(args: &Args, spec: TypeSpec) -> anyhow::Result<Plan> {
    let mut random = [0; 10];
    getrandom::fill(&mut random).map_err(|error| anyhow!("no random bytes: {error}"))?;
    let how = open::how(args)?;
    Ok(Plan {
        source: open::source(&args.file, how.encoding)?,
        how,
        known: KnownType::new(spec)?,
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
        let shown = client.get_patiently(&format!("/batches/{batch}")).await?;
        if shown["finished"] == json!(true) && shown["total"].as_u64() >= Some(rows) {
            return Ok(shown["counts"].clone());
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

#[cfg(test)]
mod arguments {
    use super::*;

    #[test]
    fn the_arguments_are_read_before_anything_else() {
        assert_eq!((delimiter("\\t"), delimiter(";")), (Ok('\t'), Ok(';')));
        for bad in ["", "ab", "，", "\"", "\n"] {
            assert!(delimiter(bad).is_err(), "{bad:?}");
        }
        assert_eq!(
            rename("room_id=room no"),
            Ok(("room_id".into(), "room no".into()))
        );
        assert!(rename("room").is_err());
    }

    #[test]
    fn the_sentence_says_the_rows_also_where_there_are_none() {
        let answer =
            json!({"batch_id": "b", "rows": 0, "submitted": 0, "rejected": 0, "success": 0, "dead": 2});
        let text = sentence(answer.as_object().unwrap());
        assert_eq!(text, "batch b: 0 rows, 0 submitted, 0 rejected, 2 dead");
    }
}
