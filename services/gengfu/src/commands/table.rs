//! Answers as tables for eyes, or as JSON.

use comfy_table::{Table, presets};
use serde_json::Value;

use crate::client::line;

/// A cell. Payloads and errors are others' texts: what would steer the terminal is shown, not done.
pub(crate) fn cell(value: &Value) -> String {
    let text = match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    text.chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

/// Prints rows of named columns.
pub(crate) fn rows(items: &[Value], columns: &[&str]) -> anyhow::Result<()> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(columns);
    for item in items {
        table.add_row(columns.iter().map(|column| cell(&item[*column])));
    }
    line(&table.to_string())
}

/// Prints an object field by field, without what is empty.
fn object(value: &Value) -> anyhow::Result<()> {
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
    line(&table.to_string())
}

/// Prints a list answer.
pub(crate) fn list(answer: &Value, columns: &[&str], json: bool) -> anyhow::Result<()> {
    if json {
        return line(&answer.to_string());
    }
    rows(answer["items"].as_array().map_or(&[], Vec::as_slice), columns)?;
    match answer["next"].as_str() {
        Some(next) => line(&format!("more: --cursor {next}")),
        None => Ok(()),
    }
}

/// Prints one thing.
pub(crate) fn one(answer: &Value, json: bool) -> anyhow::Result<()> {
    if json {
        line(&answer.to_string())
    } else {
        object(answer)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_text_never_steers_the_terminal() {
        assert_eq!(cell(&json!("\u{1b}[2Jgone\n")), "\u{fffd}[2Jgone\u{fffd}");
        assert_eq!(
            (cell(&Value::Null), cell(&json!({"a": 1}))),
            (String::new(), "{\"a\":1}".into())
        );
    }
}
