//! Reads a definition field by field, so that everything that is wrong is told, each with its field and a remedy.
//! A value that is to stay as it is, such as a payload, is never more than its text.

use std::fmt;
use std::ops::RangeInclusive;

use domain::duration;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::Problem;

/// The fields of one object, each taken out once.
pub(crate) struct Fields<'a> {
    /// What stands before a field's name: empty, or `fan_out.`.
    path: String,
    fields: Vec<(String, &'a RawValue)>,
    known: Vec<&'static str>,
    pub(crate) problems: Vec<Problem>,
}

struct Pairs<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Pairs<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Pairs<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry::<String, &RawValue>()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

impl<'a> Fields<'a> {
    /// Reads an object. `path` names it in problems; it is empty for the whole definition.
    pub(crate) fn read(path: &str, text: &'a str) -> Result<Self, Problem> {
        let name = if path.is_empty() { "schedule" } else { path };
        let Pairs(pairs) = serde_json::from_str(text).map_err(|error| {
            Problem::new(
                name,
                format!("is no object of fields: {error}"),
                "write name: value pairs",
            )
        })?;
        let mut read = Self {
            path: if path.is_empty() {
                String::new()
            } else {
                format!("{path}.")
            },
            fields: Vec::new(),
            known: Vec::new(),
            problems: Vec::new(),
        };
        for (key, value) in pairs {
            if read.fields.iter().any(|(known, _)| *known == key) {
                read.fault(&key, "is given twice", "keep one of them");
            } else {
                read.fields.push((key, value));
            }
        }
        Ok(read)
    }

    /// Notes that a field is wrong.
    pub(crate) fn fault(&mut self, key: &str, reason: impl Into<String>, remedy: impl Into<String>) {
        let field = format!("{}{}", self.path, shown(key));
        self.problems.push(Problem::new(field, reason, remedy));
    }

    /// Takes a field's exact text out; null is not given.
    pub(crate) fn raw(&mut self, key: &'static str) -> Option<&'a str> {
        self.known.push(key);
        let index = self.fields.iter().position(|(known, _)| known == key)?;
        let (_, value) = self.fields.remove(index);
        Some(value.get()).filter(|text| *text != "null")
    }

    /// A text.
    pub(crate) fn text(&mut self, key: &'static str) -> Option<String> {
        let raw = self.raw(key)?;
        match serde_json::from_str::<String>(raw) {
            Ok(text) if !text.contains('\0') => Some(text),
            _ => {
                self.fault(
                    key,
                    format!("{} is no text", shown(raw)),
                    "write a text without NUL, in quotes",
                );
                None
            }
        }
    }

    /// A text that must be there; empty where it is not.
    pub(crate) fn required(&mut self, key: &'static str, remedy: &str) -> String {
        let given = self.fields.iter().any(|(known, _)| known == key);
        let text = self.text(key);
        if !given {
            self.fault(key, "is missing", remedy);
        }
        text.unwrap_or_default()
    }

    /// A word that `read` knows.
    pub(crate) fn word<T>(
        &mut self,
        key: &'static str,
        words: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let text = self.text(key)?;
        let found = read(&text);
        if found.is_none() {
            self.fault(
                key,
                format!("{:?} is not known", shown(&text)),
                format!("write {words}"),
            );
        }
        found
    }

    /// A whole number.
    pub(crate) fn number(&mut self, key: &'static str, range: RangeInclusive<u64>) -> Option<u64> {
        let raw = self.raw(key)?;
        let number = raw.parse().ok().filter(|number| range.contains(number));
        if number.is_none() {
            let (low, high) = (range.start(), range.end());
            self.fault(
                key,
                format!("{} is no whole number from {low} to {high}", shown(raw)),
                "write one without quotes",
            );
        }
        number
    }

    /// `true` or `false`.
    pub(crate) fn switch(&mut self, key: &'static str) -> Option<bool> {
        match self.raw(key)? {
            "true" => Some(true),
            "false" => Some(false),
            other => {
                self.fault(
                    key,
                    format!("{} is neither true nor false", shown(other)),
                    "write true or false",
                );
                None
            }
        }
    }

    /// Milliseconds of a duration.
    pub(crate) fn duration(&mut self, key: &'static str, range: RangeInclusive<i64>) -> Option<i64> {
        let text = self.text(key)?;
        let (low, high) = (
            duration::format_ms(*range.start()),
            duration::format_ms(*range.end()),
        );
        match duration::parse_ms(&text) {
            Ok(ms) if range.contains(&ms) => Some(ms),
            Ok(_) => {
                self.fault(
                    key,
                    format!("{:?} is out of range", shown(&text)),
                    format!("give {low} to {high}"),
                );
                None
            }
            Err(_) => {
                self.fault(
                    key,
                    format!("{:?} is no duration", shown(&text)),
                    "write 500ms, 30s, 5m, 2h or 7d",
                );
                None
            }
        }
    }

    /// The problems, with those of fields that nobody took.
    pub(crate) fn finish(mut self) -> Vec<Problem> {
        let known = self.known.join(", ");
        for (key, _) in std::mem::take(&mut self.fields) {
            self.fault(&key, "is not known", format!("use {known}"));
        }
        self.problems
    }
}

/// As much of a text as a message needs.
pub(crate) fn shown(text: &str) -> &str {
    &text[..text.floor_char_boundary(100)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_names_its_field_and_a_remedy() {
        let text =
            r#"{"a": 5, "b": "x", "c": -1, "d": "soon", "e": "99d", "f": "yes", "g": 1, "g": 2, "h": 0}"#;
        let mut fields = Fields::read("part", text).unwrap();
        assert_eq!(fields.text("a"), None);
        assert_eq!(
            fields.word("b", "y or z", |text| (text == "y").then_some(())),
            None
        );
        assert_eq!(fields.number("c", 0..=9), None);
        assert_eq!(fields.duration("d", 0..=1_000), None);
        assert_eq!(fields.duration("e", 0..=1_000), None);
        assert_eq!(fields.switch("f"), None);
        assert_eq!(fields.number("g", 0..=9), Some(1));
        assert_eq!(fields.required("z", "name it"), "");
        let problems = fields.finish();
        let named: Vec<_> = problems.iter().map(|problem| problem.field.as_str()).collect();
        assert_eq!(
            named,
            [
                "part.g", "part.a", "part.b", "part.c", "part.d", "part.e", "part.f", "part.z", "part.h"
            ]
        );
        assert!(problems.iter().all(|problem| !problem.remedy.is_empty()));
        assert!(problems[8].remedy.contains("a, b, c"), "{}", problems[8]);
    }

    #[test]
    fn a_value_keeps_its_text_and_null_is_nothing() {
        let mut fields = Fields::read(
            "",
            r#"{"a": {"n": 1.10, "big": 18446744073709551616}, "b": null}"#,
        )
        .unwrap();
        assert_eq!(
            fields.raw("a"),
            Some(r#"{"n": 1.10, "big": 18446744073709551616}"#)
        );
        assert_eq!(fields.text("b"), None);
        assert_eq!(fields.finish(), []);
        for text in ["[]", "5", "", "{"] {
            let problem = Fields::read("", text).err().unwrap();
            assert_eq!(problem.field, "schedule", "{text}");
        }
    }
}
