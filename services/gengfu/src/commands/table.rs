//! Answers as tables for eyes, or as JSON.

use comfy_table::{Table, presets};
use serde_json::Value;

use crate::client::line;

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Prints rows of named columns.
pub(crate) fn rows(items: &[Value], columns: &[&str]) {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(columns);
    for item in items {
        table.add_row(columns.iter().map(|column| cell(&item[*column])));
    }
    line(&table.to_string());
}

/// Prints an object field by field, without what is empty.
pub(crate) fn object(value: &Value) {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    for (name, value) in value
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(_, value)| !value.is_null())
    {
        table.add_row([name.clone(), cell(value)]);
    }
    line(&table.to_string());
}

/// Prints a list answer.
pub(crate) fn list(answer: &Value, columns: &[&str], json: bool) {
    if json {
        return line(&answer.to_string());
    }
    rows(answer["items"].as_array().map_or(&[], Vec::as_slice), columns);
    if let Some(next) = answer["next"].as_str() {
        line(&format!("more: --cursor {next}"));
    }
}

/// Prints one thing.
pub(crate) fn one(answer: &Value, json: bool) {
    if json {
        line(&answer.to_string())
    } else {
        object(answer)
    }
}
