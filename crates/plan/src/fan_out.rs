//! A fire that becomes a batch: where its rows come from, and what each of them becomes.

use domain::valid_type;

use crate::fields::{Fields, shown};
use crate::object::Object;
use crate::rows::{Rows, rows};
use crate::template::Unknown;
use crate::{Problem, Template};

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
        /// How the answer is read.
        rows: Rows,
    },
    /// The lines of JSON that a task prints or returns.
    Handler {
        /// The task's type.
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
}

impl FanOut {
    /// Reads the section; `own` is the schedule's own type, which a handler's rows come from where the section does not
    /// say another.
    pub(crate) fn read(raw: &str, own: Option<&str>) -> Result<Self, Vec<Problem>> {
        let mut fields = Fields::read("fan_out", raw).map_err(|problem| vec![problem])?;
        let word = fields.required("source", "write file, url or handler");
        let each = type_name(&mut fields, "each").unwrap_or_default();
        if each.is_empty() && fields.problems.is_empty() {
            fields.fault("each", "is missing", "name the type of each row's task");
        }
        let then = type_name(&mut fields, "then");
        let source = match word.as_str() {
            "file" => file(&mut fields),
            "url" => url(&mut fields),
            "handler" => handler(&mut fields, own),
            "" => None,
            other => {
                let reason = format!("{:?} is not known", shown(other));
                fields.fault("source", reason, "write file, url or handler");
                None
            }
        };
        match (source, fields.finish()) {
            (Some(source), problems) if problems.is_empty() => Ok(Self { source, each, then }),
            (_, problems) => Err(problems),
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
            Source::Url { url, rows } => {
                object.text("source", "url");
                object.text("url", url.text());
                rows.write(&mut object);
            }
            Source::Handler { task_type } => {
                object.text("source", "handler");
                object.text("type", task_type);
            }
        }
        object.text("each", &self.each);
        object.maybe_text("then", self.then.as_deref());
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

fn file(fields: &mut Fields<'_>) -> Option<Source> {
    let text = fields.required("path", "give the file's absolute path on the executor");
    if !text.is_empty() && !text.starts_with('/') {
        fields.fault("path", "is a relative path", "write an absolute one");
    }
    let path = template(fields, "path", &text);
    let rows = rows(fields, &text);
    Some(Source::File {
        path: path?,
        rows: rows?,
    })
}

fn url(fields: &mut Fields<'_>) -> Option<Source> {
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
    let url = template(fields, "url", &text);
    let name = text.split(['?', '#']).next().unwrap_or_default();
    let rows = rows(fields, name);
    Some(Source::Url {
        url: url?,
        rows: rows?,
    })
}

fn handler(fields: &mut Fields<'_>, own: Option<&str>) -> Option<Source> {
    let named = type_name(fields, "type");
    match (named.as_deref(), own) {
        (Some(named), Some(own)) if named != own => {
            let reason = format!("{named:?} differs from the schedule's type {own:?}");
            fields.fault("type", reason, "give one of them");
            None
        }
        (None, None) => {
            fields.fault("type", "is missing", "name the type whose task gives the rows");
            None
        }
        (named, own) => Some(Source::Handler {
            task_type: named.or(own)?.to_owned(),
        }),
    }
}

fn template(fields: &mut Fields<'_>, key: &'static str, text: &str) -> Option<Template> {
    match Template::parse(text) {
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
        for (text, own) in [
            (
                r#"{"source":"file","path":"/in/{{planned_date}}.csv","each":"a"}"#,
                None,
            ),
            (
                r#"{"source":"url","url":"https://h/x.ndjson?day={{planned_date}}","each":"a","then":"b"}"#,
                None,
            ),
            (
                r#"{"source":"file","path":"/in/x","format":"csv","encoding":"gbk","delimiter":";","map":{"id":"编号"},"each":"a"}"#,
                None,
            ),
            (r#"{"source":"handler","type":"list","each":"a"}"#, None),
            (r#"{"source":"handler","each":"a"}"#, Some("list")),
        ] {
            let read = FanOut::read(text, own).unwrap();
            assert_eq!(FanOut::read(&read.to_json(), own), Ok(read.clone()), "{text}");
            if let Source::Handler { task_type } = read.source {
                assert_eq!(task_type, "list");
            }
        }
    }

    #[test]
    fn what_a_source_needs_is_asked_for() {
        for (text, own, field) in [
            (r#"{"each":"a"}"#, None, "fan_out.source"),
            (r#"{"source":"ftp","each":"a"}"#, None, "fan_out.source"),
            (r#"{"source":"handler","type":"x"}"#, None, "fan_out.each"),
            (
                r#"{"source":"handler","type":"x","each":"A"}"#,
                None,
                "fan_out.each",
            ),
            (r#"{"source":"handler","each":"a"}"#, None, "fan_out.type"),
            (
                r#"{"source":"handler","type":"x","each":"a"}"#,
                Some("y"),
                "fan_out.type",
            ),
            (
                r#"{"source":"handler","type":"x","each":"a","path":"/x"}"#,
                None,
                "fan_out.path",
            ),
            (
                r#"{"source":"file","path":"x.csv","each":"a"}"#,
                None,
                "fan_out.path",
            ),
            (
                r#"{"source":"file","path":"/{{x}}.csv","each":"a"}"#,
                None,
                "fan_out.path",
            ),
            (
                r#"{"source":"file","path":"/x","each":"a"}"#,
                None,
                "fan_out.format",
            ),
            (
                r#"{"source":"file","path":"/x.csv","each":"a","encoding":"utf-9"}"#,
                None,
                "fan_out.encoding",
            ),
            (
                r#"{"source":"file","path":"/x.csv","each":"a","delimiter":"ab"}"#,
                None,
                "fan_out.delimiter",
            ),
            (
                r#"{"source":"file","path":"/x.csv","each":"a","map":[1]}"#,
                None,
                "fan_out.map",
            ),
            (
                r#"{"source":"file","path":"/x.jsonl","each":"a","map":{"a":"b"}}"#,
                None,
                "fan_out.format",
            ),
            (
                r#"{"source":"url","url":"ftp://x/y.csv","each":"a"}"#,
                None,
                "fan_out.url",
            ),
            (
                r#"{"source":"url","each":"a","format":"csv"}"#,
                None,
                "fan_out.url",
            ),
        ] {
            let problems = FanOut::read(text, own).unwrap_err();
            assert_eq!(problems.len(), 1, "{text}: {problems:?}");
            assert_eq!(problems[0].field, field, "{text}");
        }
    }
}
