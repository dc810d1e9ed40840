//! XXL-JOB: the rows of its table `xxl_job_info`.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use crate::import::command::Shell;
use crate::import::draft::{Draft, Item};
use crate::import::names::{Names, slug};
use crate::import::xxl_rows::{self, Row};
use crate::import::yaml;

/// The most tasks that wait under `SERIAL_EXECUTION`, which has no limit there.
const QUEUE_MAX: u64 = 255;

/// Reads an export. Every row becomes definitions or a note.
///
/// # Errors
/// Where the whole is no such export.
pub(crate) fn read(text: &str, zone: &str) -> anyhow::Result<Draft> {
    let mut import = Import {
        draft: Draft {
            header: header(zone),
            ..Draft::default()
        },
        zone,
        names: Names::default(),
        handlers: HashMap::new(),
    };
    for row in xxl_rows::read(text)? {
        import.row(&row);
    }
    Ok(import.draft)
}

fn header(zone: &str) -> Vec<String> {
    [
        "From XXL-JOB. What is different here:",
        "- A type's handler is the name that the job had there (executor_handler). Write it with the Rust SDK, or turn the",
        "  type into handler: http or command. Which executors run it is the type's pool.",
        "- A run may take a day where the job had no timeout. A retry waits (backoff), where XXL-JOB repeats at once.",
        "- An instant is a misfire when it is a minute late (misfire grace), there after five seconds.",
        "- An interval counts from 1970-01-01T00:00:00Z, there from when the job was started.",
    ]
    .into_iter()
    .map(str::to_owned)
    .chain([format!("- The zone is {zone}.")])
    .collect()
}

struct Import<'z> {
    draft: Draft,
    zone: &'z str,
    names: Names,
    /// The types that were made, by the handler's name there.
    handlers: HashMap<String, String>,
}

/// A row's rule: key and text, or why there is none.
enum Rule {
    Is(&'static str, String),
    None,
    Unknown(String),
}

impl Import<'_> {
    fn row(&mut self, row: &Row) {
        let what = what(row);
        let rule = rule(row);
        if let Rule::Unknown(reason) = &rule {
            return self.draft.leave_out(row.line, &what, reason.as_str());
        }
        let Some(task_type) = self.task_type(row, &what) else {
            return;
        };
        self.tell_losses(row, &what);
        match rule {
            Rule::Is(key, text) => self.schedule(row, &task_type, key, &text),
            Rule::None => {
                let reason = "has no schedule (NONE): only its type is declared; submit its tasks";
                self.draft.note(row.line, &what, reason);
            }
            Rule::Unknown(_) => {}
        }
    }

    /// The type of the row's tasks, made where it is not there yet.
    fn task_type(&mut self, row: &Row, what: &str) -> Option<String> {
        let glue = row.text("glue_type");
        match glue {
            "BEAN" | "" => self.bean(row, what),
            "GLUE_SHELL" => self.shell(row, what),
            other => {
                let reason = format!(
                    "is a script of {other} that lives in XXL-JOB; make it a program, and a type with handler: command"
                );
                self.draft.leave_out(row.line, what, reason);
                None
            }
        }
    }

    fn bean(&mut self, row: &Row, what: &str) -> Option<String> {
        let handler = row.text("executor_handler");
        if let Some(known) = self.handlers.get(handler) {
            return Some(known.clone());
        }
        let name = slug(handler);
        if name.is_empty() {
            self.draft
                .leave_out(row.line, what, "has no executor_handler that could name a type");
            return None;
        }
        let name = self.names.take(&name);
        let fields = json!({"name": name, "handler": handler, "run_timeout": "1d"});
        let added = self.add_type(row, fields);
        if added {
            self.handlers.insert(handler.to_owned(), name.clone());
        }
        added.then_some(name)
    }

    /// A script becomes a type of its own. It finds what it finds there: parameter, shard, number of shards.
    fn shell(&mut self, row: &Row, what: &str) -> Option<String> {
        let source = row.text("glue_source");
        if source.is_empty() {
            self.draft.leave_out(
                row.line,
                what,
                "is a shell script, but the export has no glue_source",
            );
            return None;
        }
        let shell = Shell {
            program: "bash".into(),
            script: source.replace("\r\n", "\n"),
            arguments: vec![row.text("executor_param").into(), "0".into(), "1".into()],
            ..Shell::default()
        };
        let name = self.names.take(&format!("glue-{}", id(row)));
        let fields =
            json!({"name": name, "handler": "command", "command": shell.section(), "run_timeout": "1d"});
        self.add_type(row, fields).then_some(name)
    }

    fn add_type(&mut self, row: &Row, fields: Value) -> bool {
        let Value::Object(fields) = fields else {
            return false;
        };
        self.draft.add_type(
            row.line,
            Item {
                comments: comments(row),
                fields,
            },
        )
    }

    fn schedule(&mut self, row: &Row, task_type: &str, key: &str, rule: &str) {
        let name = self.names.take(&format!("{task_type}-{}", id(row)));
        let mut fields = Map::new();
        fields.insert("name".into(), json!(name));
        fields.insert("type".into(), json!(task_type));
        fields.insert(key.into(), json!(rule));
        if key == "cron" {
            fields.insert("dialect".into(), json!("quartz"));
        }
        fields.insert("zone".into(), json!(self.zone));
        let misfire = match row.text("misfire_strategy") {
            "FIRE_ONCE_NOW" => "fire_once",
            _ => "skip",
        };
        fields.insert("misfire".into(), json!(misfire));
        self.overlap(row, &name, &mut fields);
        if row.text("glue_type") != "GLUE_SHELL" {
            payload(row, &mut fields);
        }
        fields.insert("max_retry".into(), json!(row.number("executor_fail_retry_count")));
        if let seconds @ 1.. = row.number("executor_timeout") {
            fields.insert("run_timeout".into(), json!(format!("{seconds}s")));
        }
        if row.text("trigger_status") == "0" {
            fields.insert("paused".into(), json!(true));
        }
        self.draft.add_schedule(
            row.line,
            Item {
                comments: comments(row),
                fields,
            },
        );
    }

    fn overlap(&mut self, row: &Row, name: &str, fields: &mut Map<String, Value>) {
        let overlap = match row.text("executor_block_strategy") {
            "DISCARD_LATER" => "skip",
            "COVER_EARLY" => "cancel_previous",
            "SERIAL_EXECUTION" | "" => {
                fields.insert("queue_max".into(), json!(QUEUE_MAX));
                "queue"
            }
            other => {
                let reason = format!("executor_block_strategy {other} is not known; overlap is allowed");
                self.draft.note(row.line, name, reason);
                "allow"
            }
        };
        fields.insert("overlap".into(), json!(overlap));
    }

    /// What a row says that has no place in a definition.
    fn tell_losses(&mut self, row: &Row, what: &str) {
        let children: HashSet<&str> = row.text("child_jobid").split(',').map(str::trim).collect();
        let mut children: Vec<&str> = children
            .into_iter()
            .filter(|id| !matches!(*id, "" | "0"))
            .collect();
        children.sort_unstable();
        if !children.is_empty() {
            let reason = format!(
                "jobs {} followed it there; submit their tasks from the handler",
                children.join(", ")
            );
            self.draft
                .leave_out(row.line, &format!("{what}, child_jobid"), reason);
        }
        if !row.text("alarm_email").is_empty() {
            let reason = format!(
                "{} was told of failures; no mail is sent",
                row.text("alarm_email")
            );
            self.draft
                .leave_out(row.line, &format!("{what}, alarm_email"), reason);
        }
        if row.text("executor_route_strategy") == "SHARDING_BROADCAST" {
            let reason = "ran on every executor, each with its share; make its rows tasks with fan_out";
            self.draft
                .leave_out(row.line, &format!("{what}, executor_route_strategy"), reason);
        }
    }
}

/// What a person calls the row.
fn what(row: &Row) -> String {
    format!("job {} ({})", row.text("id"), row.text("job_desc"))
}

fn id(row: &Row) -> String {
    match slug(row.text("id")) {
        id if id.is_empty() => format!("line-{}", row.line),
        id => id,
    }
}

fn comments(row: &Row) -> Vec<String> {
    let author = row.text("author");
    let by = if author.is_empty() {
        String::new()
    } else {
        format!(", by {author}")
    };
    vec![format!("line {}: {}{by}", row.line, what(row))]
}

fn rule(row: &Row) -> Rule {
    let conf = row.text("schedule_conf");
    match row.text("schedule_type") {
        "CRON" => Rule::Is("cron", conf.to_owned()),
        "FIX_RATE" => match conf.parse::<u64>() {
            Ok(seconds) => Rule::Is("every", format!("{seconds}s")),
            Err(_) => Rule::Unknown(format!("schedule_conf {conf:?} is no number of seconds")),
        },
        "NONE" => Rule::None,
        // Before 2.3 there was only the expression.
        "" if !row.text("job_cron").is_empty() => Rule::Is("cron", row.text("job_cron").to_owned()),
        "" => Rule::None,
        other => Rule::Unknown(format!(
            "schedule_type {other} has no counterpart; write every, or cron"
        )),
    }
}

/// The parameter: as it is where it is JSON, else as a JSON text.
fn payload(row: &Row, fields: &mut Map<String, Value>) {
    let parameter = row.text("executor_param");
    if parameter.is_empty() {
        return;
    }
    // What stands between braces there means itself.
    let text = parameter.replace("{{", "{{{{");
    let value = serde_json::from_str::<Value>(&text).ok();
    let value = value.filter(|value| (value.is_object() || value.is_array()) && yaml::keeps_numbers(value));
    fields.insert("payload".into(), value.unwrap_or_else(|| json!(text)));
}

#[cfg(test)]
mod tests;
