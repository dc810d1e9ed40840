//! Writes a definition as YAML: a line for each field, what is in it as JSON, which YAML reads too. Comments can stand
//! beside it, which no serializer writes.

use serde_json::Value;

use crate::import::draft::Item;

/// Words that YAML readers take for something else than a text.
const TAKEN: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];

/// Appends an item of a list.
pub(crate) fn write(item: &Item, text: &mut String) {
    for comment in &item.comments {
        let plain: String = comment
            .chars()
            .map(|c| if is_plain(c) { c } else { '\u{fffd}' })
            .collect();
        text.push_str(&format!("  # {plain}\n"));
    }
    for (index, (key, value)) in item.fields.iter().enumerate() {
        let mark = if index == 0 { "- " } else { "  " };
        text.push_str(&format!("  {mark}{key}: {}\n", value_text(value)));
    }
}

fn value_text(value: &Value) -> String {
    match value {
        Value::String(word) if is_word(word) => word.clone(),
        other => escape(&other.to_string()),
    }
}

/// Whether a text means itself without quotes.
fn is_word(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .bytes()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'.' | b'-' | b'/'))
        && !TAKEN.contains(&lower.as_str())
}

/// Characters that JSON lets stand and YAML takes for a line's end, or not at all.
fn escape(json: &str) -> String {
    json.chars()
        .map(|c| match is_plain(c) {
            true => c.to_string(),
            false => format!("\\u{:04x}", u32::from(c)),
        })
        .collect()
}

fn is_plain(c: char) -> bool {
    !c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// Whether every number of a value comes out of YAML as it went in.
pub(crate) fn keeps_numbers(value: &Value) -> bool {
    match value {
        Value::Number(number) => {
            let text = number.to_string();
            text.parse::<i64>().is_ok()
                || text.parse::<u64>().is_ok()
                || text
                    .parse::<f64>()
                    .is_ok_and(|float| float.is_finite() && float.to_string() == text)
        }
        Value::Array(items) => items.iter().all(keeps_numbers),
        Value::Object(fields) => fields.values().all(keeps_numbers),
        Value::Null | Value::Bool(_) | Value::String(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn whatever_the_texts_yaml_reads_back_what_was_written() {
        let texts = [
            "plain",
            "yes",
            "Null",
            "1.5",
            "1e5",
            "a: b",
            "# c",
            "- d",
            "'",
            "\"",
            "\\",
            "\n x\t\r",
            "\u{7f}\u{85}",
            "\u{2028}\u{feff}夜\u{1f319}",
            "",
            " ",
            "%",
            "{{x}}",
            "*/5 * * * *",
            "!tag",
            "&a",
            "a/b",
            "~",
        ];
        let mut fields = serde_json::Map::new();
        for (index, text) in texts.iter().enumerate() {
            fields.insert(format!("k{index}"), json!(text));
            fields.insert(format!("l{index}"), json!([text, {*text: text}]));
        }
        fields.insert("numbers".into(), json!([1, -5, 1.5, true, null, u64::MAX]));
        let item = Item {
            comments: vec!["one\nname: two".into()],
            fields: fields.clone(),
        };
        let mut text = String::from("items:\n");
        write(&item, &mut text);
        let read: serde_yaml_ng::Value = serde_yaml_ng::from_str(&text).unwrap();
        assert_eq!(
            serde_json::to_value(&read["items"][0]).unwrap(),
            Value::Object(fields)
        );
    }

    #[test]
    fn numbers_that_yaml_changes_are_seen() {
        for (text, keeps) in [
            ("[1, -1, 18446744073709551615, 1.5]", true),
            ("1.10", false),
            ("[{\"a\": 18446744073709551616}]", false),
            ("1e5", false),
        ] {
            assert_eq!(
                keeps_numbers(&serde_json::from_str(text).unwrap()),
                keeps,
                "{text}"
            );
        }
    }
}
