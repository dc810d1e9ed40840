//! Rows of an exported table: CSV with a header, or JSON in one of the shapes that tools write.

use std::collections::HashMap;

use anyhow::{Context, bail};
use serde_json::Value;

/// One row. Names of columns are compared without case and underscores, as `jobDesc` and `job_desc` are the same.
#[derive(Debug)]
pub(crate) struct Row {
    /// The line of a CSV file, the number of a JSON row; both from 1.
    pub(crate) line: u64,
    fields: HashMap<String, String>,
}

impl Row {
    /// A column's text; empty where it is missing or null.
    pub(crate) fn text(&self, column: &str) -> &str {
        self.fields.get(&plain(column)).map_or("", |text| text.trim())
    }

    /// A column's number; 0 where it holds none.
    pub(crate) fn number(&self, column: &str) -> u64 {
        self.text(column).parse().unwrap_or(0)
    }

    fn of(line: u64, pairs: impl Iterator<Item = (String, String)>) -> Self {
        let fields = pairs.filter(|(_, value)| !matches!(value.as_str(), "NULL" | "\\N" | "null"));
        Self {
            line,
            fields: fields.map(|(key, value)| (plain(&key), value)).collect(),
        }
    }
}

fn plain(column: &str) -> String {
    column
        .chars()
        .filter(|c| *c != '_')
        .collect::<String>()
        .to_ascii_lowercase()
}

/// Reads a whole file.
pub(crate) fn read(text: &str) -> anyhow::Result<Vec<Row>> {
    match text.trim_start().starts_with(['[', '{']) {
        true => json(text),
        false => csv(text),
    }
}

fn json(text: &str) -> anyhow::Result<Vec<Row>> {
    let value: Value = serde_json::from_str(text).context("the export is no JSON")?;
    let Some(rows) = rows_in(&value) else {
        bail!("the export holds no list of rows; export the table xxl_job_info");
    };
    let row = |(index, row): (usize, &Value)| {
        let pairs = row.as_object().into_iter().flatten();
        let cells = pairs.map(|(key, value)| (key.clone(), cell(value)));
        Row::of(index as u64 + 1, cells)
    };
    Ok(rows.iter().enumerate().map(row).collect())
}

/// The first list of objects: the whole, or below `data`, `RECORDS` or whatever the tool calls it.
fn rows_in(value: &Value) -> Option<&Vec<Value>> {
    match value {
        Value::Array(items) if items.iter().all(Value::is_object) => Some(items),
        Value::Array(items) => items.iter().find_map(rows_in),
        Value::Object(fields) => fields.values().find_map(rows_in),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn csv(text: &str) -> anyhow::Result<Vec<Row>> {
    let header = text.lines().next().unwrap_or_default();
    let delimiter = [b',', b'\t', b';']
        .into_iter()
        .max_by_key(|one| header.bytes().filter(|c| c == one).count())
        .unwrap_or(b',');
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(delimiter)
        .from_reader(text.as_bytes());
    let columns = reader.headers().context("the export has no header")?.clone();
    if !columns.iter().any(|column| plain(column) == "executorhandler") {
        bail!("the export has no column executor_handler; export the table xxl_job_info with its header");
    }
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.context("the export is no CSV")?;
        let line = record.position().map_or(0, csv::Position::line);
        let cells = columns.iter().zip(&record);
        rows.push(Row::of(
            line,
            cells.map(|(key, value)| (key.to_owned(), value.to_owned())),
        ));
    }
    Ok(rows)
}
