//! Definitions in the making, and what there is to say about them.

use std::fmt;

use domain::TypeSpec;
use plan::Schedule;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::import::yaml;

/// One definition.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Item {
    /// What the source said about it, line by line.
    pub(crate) comments: Vec<String>,
    pub(crate) fields: Map<String, Value>,
}

/// Something that a person has to know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Note {
    /// The line of the file; of JSON the number of the row, from 1.
    pub(crate) line: u64,
    /// What it is about: the definition's name, or the source's own word for it.
    pub(crate) what: String,
    /// What is different here, and what to do.
    pub(crate) reason: String,
    /// Whether nothing stands for it in the definitions.
    pub(crate) left_out: bool,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let left_out = if self.left_out { "left out: " } else { "" };
        write!(f, "line {}: {}: {left_out}{}", self.line, self.what, self.reason)
    }
}

/// What an import prints.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    /// What holds for all of it; stands at the top of the file.
    pub(crate) header: Vec<String>,
    pub(crate) types: Vec<Item>,
    pub(crate) schedules: Vec<Item>,
    pub(crate) notes: Vec<Note>,
}

impl Draft {
    /// Says something about a line whose definition is there.
    pub(crate) fn note(&mut self, line: u64, what: &str, reason: impl Into<String>) {
        self.tell(line, what, reason, false);
    }

    /// Says why a line has no definition.
    pub(crate) fn leave_out(&mut self, line: u64, what: &str, reason: impl Into<String>) {
        self.tell(line, what, reason, true);
    }

    fn tell(&mut self, line: u64, what: &str, reason: impl Into<String>, left_out: bool) {
        self.notes.push(Note {
            line,
            what: what.to_owned(),
            reason: reason.into(),
            left_out,
        });
    }

    /// Adds a type, unless it is wrong; says so.
    pub(crate) fn add_type(&mut self, line: u64, item: Item) -> bool {
        let read = serde_json::from_value::<TypeSpec>(Value::Object(item.fields.clone()))
            .map_err(|error| error.to_string())
            .and_then(|spec| spec.check());
        match read {
            Ok(()) => {
                self.types.push(item);
                true
            }
            Err(reason) => {
                self.leave_out(line, &name_of(&item), reason);
                false
            }
        }
    }

    /// Adds a schedule, unless it is wrong; says so.
    pub(crate) fn add_schedule(&mut self, line: u64, item: Item) -> bool {
        match Schedule::parse(&Value::Object(item.fields.clone()).to_string()) {
            Ok(_) => {
                self.schedules.push(item);
                true
            }
            Err(problems) => {
                for problem in problems {
                    self.leave_out(line, &name_of(&item), problem.to_string());
                }
                false
            }
        }
    }

    pub(crate) fn to_yaml(&self) -> String {
        let mut text: String = self.header.iter().map(|line| format!("# {line}\n")).collect();
        for (key, items) in [("types", &self.types), ("schedules", &self.schedules)] {
            text.push_str(&format!("{key}:{}\n", if items.is_empty() { " []" } else { "" }));
            for item in items {
                yaml::write(item, &mut text);
            }
        }
        text
    }

    pub(crate) fn to_json(&self) -> Value {
        let all = |items: &[Item]| -> Vec<Value> {
            items
                .iter()
                .map(|item| Value::Object(item.fields.clone()))
                .collect()
        };
        json!({
            "definitions": {"types": all(&self.types), "schedules": all(&self.schedules)},
            "notes": self.notes,
        })
    }
}

fn name_of(item: &Item) -> String {
    item.fields["name"].as_str().unwrap_or_default().to_owned()
}
