//! A fire that becomes a batch: where its rows come from, and what each of them becomes.

use domain::valid_type;

use crate::fields::{Fields, shown};
use crate::object::Object;
use crate::rows::{Rows, rows};
use crate::template::Unknown;
use crate::{Moment, Problem, Template};

/// Most rows that a definition may allow: the row's number has 32 bits.
const ROWS_MAX: u64 = u32::MAX as u64;
/// The longest download: a day, in milliseconds.
const TIMEOUT_MS: i64 = 86_400_000;

/// Where the rows come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A file on the executor.
    File {
        /// Its absolute path.
        path: Template,
        /// How it is read.
        rows: Rows,
    },
    /// What a GET answers.
    Url {
        /// The address.
        url: Template,
        /// Milliseconds that the whole answer may take; none: the executor's default.
        timeout_ms: Option<i64>,
        /// How the answer is read.
        rows: Rows,
    },
    /// The lines of JSON that the handler of a type prints or returns.
    Handler {
        /// The type's name.
        task_type: String,
    },
}

/// Rows, one task each, and the task after them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FanOut {
    /// Where the rows come from.
    pub source: Source,
    /// The type of each row's task.
    pub each: String,
    /// The type of the task that follows when all have ended.
    pub then: Option<String>,
    /// Rows above which nothing is submitted, if fewer than the executor allows.
    pub max_rows: Option<u64>,
}

/// How a text with places is read.
pub(crate) type ReadText = fn(&str) -> Result<Template, Unknown>;

impl FanOut {
    /// Reads the section. `text` reads path and address: with places, or, of a fire, without.
    pub(crate) fn read(raw: &str, text: ReadText) -> Result<Self, Vec<Problem>> {
        let mut fields = Fields::read("fan_out", raw).map_err(|problem| vec![problem])?;
        let word = fields.required("source", "write file, url or handler");
        let each = type_name(&mut fields, "each").unwrap_or_default();
        if each.is_empty() && fields.problems.is_empty() {
            fields.fault("each", "is missing", "name the type of each row's task");
        }
        let then = type_name(&mut fields, "then");
        let max_rows = fields.number("max_rows", 1..=ROWS_MAX);
        let source = match word.as_str() {
            "file" => file(&mut fields, text),
            "url" => url(&mut fields, text),
            "handler" => handler(&mut fields),
            "" => None,
            other => {
                let reason = format!("{:?} is not known", shown(other));
                fields.fault("source", reason, "write file, url or handler");
                None
            }
        };
        match (source, fields.finish()) {
            (Some(source), problems) if problems.is_empty() => Ok(Self {
                source,
                each,
                then,
                max_rows,
            }),
            (_, problems) => Err(problems),
        }
    }

    /// The same for one fire: every place is filled in.
    pub(crate) fn filled(&self, moment: &Moment<'_>) -> Self {
        let source = match self.source.clone() {
            Source::File { path, rows } => Source::File {
                path: path.filled(moment),
                rows,
            },
            Source::Url {
                url,
                timeout_ms,
                rows,
            } => Source::Url {
                url: url.filled(moment),
                timeout_ms,
                rows,
            },
            source @ Source::Handler { .. } => source,
        };
        Self {
            source,
            ..self.clone()
        }
    }

    pub(crate) fn to_json(&self) -> String {
        let mut object = Object::default();
        match &self.source {
            Source::File { path, rows } => {
                object.text("source", "file");
                object.text("path", path.text());
                rows.write(&mut object);
            }
            Source::Url {
                url,
                timeout_ms,
                rows,
            } => {
                object.text("source", "url");
                object.text("url", url.text());
                object.maybe_duration("timeout", *timeout_ms);
                rows.write(&mut object);
            }
            Source::Handler { task_type } => {
                object.text("source", "handler");
                object.text("type", task_type);
            }
        }
        object.text("each", &self.each);
        object.maybe_text("then", self.then.as_deref());
        object.maybe_number("max_rows", self.max_rows);
        object.finish()
    }
}

fn type_name(fields: &mut Fields<'_>, key: &'static str) -> Option<String> {
    let name = fields.text(key)?;
    if !valid_type(&name) {
        fields.fault(
            key,
            format!("{:?} is no type's name", shown(&name)),
            "use a-z, 0-9, '_', '.', '-', starting with a letter or digit",
        );
    }
    Some(name)
}

fn file(fields: &mut Fields<'_>, read: ReadText) -> Option<Source> {
    let text = fields.required("path", "give the file's absolute path on the executor");
    if !text.is_empty() && !text.starts_with('/') {
        fields.fault("path", "is a relative path", "write an absolute one");
    }
    let path = template(fields, "path", &text, read);
    let rows = rows(fields, &text);
    Some(Source::File {
        path: path?,
        rows: rows?,
    })
}

fn url(fields: &mut Fields<'_>, read: ReadText) -> Option<Source> {
    let text = fields.required("url", "give the address");
    let host = text
        .strip_prefix("http://")
        .or_else(|| text.strip_prefix("https://"));
    if !text.is_empty() && host.is_none_or(|host| host.is_empty() || host.starts_with('/')) {
        fields.fault(
            "url",
            format!("{:?} is no address", shown(&text)),
            "write https://host/path",
        );
    }
    let url = template(fields, "url", &text, read);
    let timeout_ms = fields.duration("timeout", 1..=TIMEOUT_MS);
    let name = text.split(['?', '#']).next().unwrap_or_default();
    let rows = rows(fields, name);
    Some(Source::Url {
        url: url?,
        timeout_ms,
        rows: rows?,
    })
}

fn handler(fields: &mut Fields<'_>) -> Option<Source> {
    let task_type = type_name(fields, "type");
    if task_type.is_none() && fields.problems.is_empty() {
        fields.fault("type", "is missing", "name the type whose handler gives the rows");
    }
    Some(Source::Handler {
        task_type: task_type?,
    })
}

fn template(fields: &mut Fields<'_>, key: &'static str, text: &str, read: ReadText) -> Option<Template> {
    match read(text) {
        Ok(template) => Some(template),
        Err(error) => {
            fields.fault(key, error.reason(), Unknown::remedy());
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_reads_back_from_its_canonical_form() {
        for text in [
            r#"{"source":"file","path":"/in/{{planned_date}}.csv","each":"a"}"#,
            r#"{"source":"url","url":"https://h/x.ndjson?day={{planned_date}}","timeout":"90s","each":"a","then":"b"}"#,
            r#"{"source":"file","path":"/in/x","format":"csv","encoding":"gbk","delimiter":";","map":{"id":"编号"},"each":"a"}"#,
            r#"{"source":"handler","type":"list","each":"a","max_rows":10}"#,
        ] {
            let read = FanOut::read(text, Template::parse).unwrap();
            assert_eq!(
                FanOut::read(&read.to_json(), Template::parse),
                Ok(read.clone()),
                "{text}"
            );
        }
    }

    #[test]
    fn what_a_source_needs_is_asked_for() {
        for (text, field) in [
            (r#"{"each":"a"}"#, "fan_out.source"),
            (r#"{"source":"ftp","each":"a"}"#, "fan_out.source"),
            (r#"{"source":"handler","type":"x"}"#, "fan_out.each"),
            (r#"{"source":"handler","type":"x","each":"A"}"#, "fan_out.each"),
            (r#"{"source":"handler","each":"a"}"#, "fan_out.type"),
            (
                r#"{"source":"file","path":"/x.csv","each":"a","max_rows":0}"#,
                "fan_out.max_rows",
            ),
            (
                r#"{"source":"url","url":"http://h/x.csv","each":"a","timeout":"2d"}"#,
                "fan_out.timeout",
            ),
            (
                r#"{"source":"handler","type":"x","each":"a","path":"/x"}"#,
                "fan_out.path",
            ),
            (r#"{"source":"file","path":"x.csv","each":"a"}"#, "fan_out.path"),
            (
                r#"{"source":"file","path":"/{{x}}.csv","each":"a"}"#,
                "fan_out.path",
            ),
            (r#"{"source":"file","path":"/x","each":"a"}"#, "fan_out.format"),
            (
                r#"{"source":"file","path":"/x.csv","each":"a","encoding":"utf-9"}"#,
                "fan_out.encoding",
            ),
            (
                r#"{"source":"file","path":"/x.csv","each":"a","delimiter":"ab"}"#,
                "fan_out.delimiter",
            ),
            (
                r#"{"source":"file","path":"/x.csv","each":"a","map":[1]}"#,
                "fan_out.map",
            ),
            (
                r#"{"source":"file","path":"/x.jsonl","each":"a","map":{"a":"b"}}"#,
                "fan_out.format",
            ),
            (
                r#"{"source":"url","url":"ftp://x/y.csv","each":"a"}"#,
                "fan_out.url",
            ),
            (r#"{"source":"url","each":"a","format":"csv"}"#, "fan_out.url"),
        ] {
            let problems = FanOut::read(text, Template::parse).unwrap_err();
            assert_eq!(problems.len(), 1, "{text}: {problems:?}");
            assert_eq!(problems[0].field, field, "{text}");
        }
    }
}
