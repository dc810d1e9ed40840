//! What `gengfu task explain` prints: the sentence, the remedy, and the evidence line by line.

use serde_json::Value;

use crate::client::line;
use crate::commands::table::cell;

/// Prints an explanation.
pub(crate) fn show(answer: &Value, json: bool) -> anyhow::Result<()> {
    if json {
        return line(&answer.to_string());
    }
    for text in lines(answer) {
        line(&text)?;
    }
    Ok(())
}

fn lines(answer: &Value) -> Vec<String> {
    let mut lines = vec![format!(
        "{} is {}: {}",
        cell(&answer["task_id"]),
        cell(&answer["status"]),
        cell(&answer["text"])
    )];
    if !answer["remedy"].is_null() {
        lines.push(format!("  to do: {}", cell(&answer["remedy"])));
    }
    evidence("", &answer["evidence"], &mut lines);
    lines
}

/// One line for each thing that is known, nested ones under their names joined by dots.
fn evidence(name: &str, value: &Value, lines: &mut Vec<String>) {
    let under = |key: &str| match name {
        "" => key.to_owned(),
        name => format!("{name}.{key}"),
    };
    match value {
        Value::Null => {}
        Value::Object(fields) => fields
            .iter()
            .for_each(|(key, value)| evidence(&under(key), value, lines)),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                evidence(&under(&index.to_string()), item, lines);
            }
        }
        other => lines.push(format!("  {name}: {}", cell(other))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_explanation_is_a_sentence_a_remedy_and_its_evidence() {
        let answer = json!({"task_id": "t", "status": "pending", "text": "it waits", "remedy": "wait",
            "evidence": {"pool": {"name": "p\u{1b}"}, "none": null, "list": [1]}});
        assert_eq!(
            lines(&answer),
            [
                "t is pending: it waits",
                "  to do: wait",
                "  pool.name: p\u{fffd}",
                "  list.0: 1"
            ]
        );
    }
}
