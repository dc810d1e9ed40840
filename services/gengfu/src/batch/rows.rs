//! Rows of a file: each a payload that matches the schema, or the reason why it can't run.

use std::io;

use anyhow::{Context, bail};
use serde_json::value::RawValue;

use super::Plan;
use super::cells::{self, Column};
use super::records::Records;
use super::source::Shape;

/// One row.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// The line of its start, from 1, header included.
    pub(crate) line: u64,
    /// The payload's text, or what is wrong.
    pub(crate) content: Result<String, Fault>,
}

/// Why a row can't run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) column: Option<String>,
    pub(crate) reason: String,
    /// What stood there, as a text.
    pub(crate) row: String,
}

/// Reads row by row.
pub(crate) struct Rows<'p> {
    plan: &'p Plan,
    records: Records,
    columns: Vec<Column>,
}

fn cells_of(plan: &Plan, record: &str) -> io::Result<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(plan.delimiter)
        .buffer_capacity(record.len().max(64))
        .from_reader(record.as_bytes());
    let mut cells = csv::StringRecord::new();
    reader.read_record(&mut cells)?;
    Ok(cells.iter().map(str::to_owned).collect())
}

impl<'p> Rows<'p> {
    /// Reads the header of a CSV file, and checks it.
    pub(crate) fn open(plan: &'p Plan) -> anyhow::Result<Self> {
        let name = &plan.source.name;
        let text = plan
            .source
            .text()
            .with_context(|| format!("{name} can't be read"))?;
        let mut records = Records::new(text, plan.source.shape);
        let mut columns = Vec::new();
        if plan.source.shape == Shape::Csv {
            let Some((_, header)) = records.next()? else {
                bail!("{name} has no header; its first line names the columns")
            };
            let header = cells_of(plan, &header)?;
            columns = cells::columns(&header, &plan.renamed, plan.known.spec())
                .map_err(|fault| anyhow::anyhow!("{name}: {fault}"))?;
        }
        Ok(Self {
            plan,
            records,
            columns,
        })
    }

    fn content(&self, record: &str) -> Result<String, Fault> {
        let fault = |column: Option<String>, reason: String| Fault {
            column,
            reason,
            row: record.to_owned(),
        };
        let payload = match self.plan.source.shape {
            Shape::Jsonl => {
                let text = record.trim();
                serde_json::from_str::<&RawValue>(text)
                    .map_err(|error| fault(None, format!("is no JSON: {error}")))?;
                text.to_owned()
            }
            Shape::Csv => {
                let cells = cells_of(self.plan, record).map_err(|error| fault(None, error.to_string()))?;
                let (has, wants) = (cells.len(), self.columns.len());
                if has != wants {
                    return Err(fault(None, format!("has {has} cells, the header has {wants}")));
                }
                let payload = cells::payload(&self.columns, cells.iter().map(String::as_str));
                payload.map_err(|bad| fault(Some(bad.column), bad.reason))?
            }
        };
        match self.plan.known.faults(payload.as_bytes()).first() {
            None => Ok(payload),
            Some(found) => Err(fault(found.column().map(str::to_owned), found.reason.clone())),
        }
    }
}

impl Iterator for Rows<'_> {
    type Item = anyhow::Result<Row>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.records.next() {
            Ok(None) => None,
            Ok(Some((line, record))) => Some(Ok(Row {
                line,
                content: self.content(&record),
            })),
            Err(error) => Some(Err(error.context(self.plan.source.name.clone()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use admission::KnownType;
    use domain::{TaskId, TypeSpec};
    use serde_json::Value;

    use super::*;
    use crate::batch::source::Source;

    const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../cases/batch");

    fn case(name: &str) -> Value {
        serde_json::from_str(&std::fs::read_to_string(Path::new(CASES).join(name)).unwrap()).unwrap()
    }

    fn read(file: &str, encoding: &str) -> anyhow::Result<Vec<Row>> {
        let mut spec: TypeSpec = serde_json::from_str(r#"{"name":"a","handler":"echo"}"#).unwrap();
        spec.input_schema = Some(case("schema.json"));
        let plan = Plan {
            source: Source::open(&Path::new(CASES).join(file), encoding)?,
            known: KnownType::new(spec).unwrap(),
            delimiter: b',',
            renamed: Vec::new(),
            batch: TaskId::new(0, [0; 10]),
        };
        Rows::open(&plan)?.collect()
    }

    fn check(file: &str, expected: &Value, rows: &[Row]) {
        let good = rows.iter().filter(|row| row.content.is_ok()).count();
        assert_eq!(Some(good as u64), expected["tasks"].as_u64(), "{file}: {rows:?}");
        let dead: Vec<_> = rows
            .iter()
            .filter_map(|row| Some((row.line, row.content.as_ref().err()?)))
            .collect();
        let wanted = expected["dead"].as_array().unwrap();
        assert_eq!(dead.len(), wanted.len(), "{file}: {dead:?}");
        for ((line, fault), wanted) in dead.iter().zip(wanted) {
            assert_eq!(Some(*line), wanted["line"].as_u64(), "{file}");
            if let Some(column) = wanted["column"].as_str() {
                assert_eq!(fault.column.as_deref(), Some(column), "{file}");
            }
        }
    }

    #[test]
    fn every_file_of_the_cases_gives_what_is_expected() {
        let expected = case("expected.json");
        for (file, expected) in expected.as_object().unwrap() {
            match (read(file, "utf-8"), expected["refused"].as_str()) {
                (Err(error), Some(_)) => assert!(!format!("{error:#}").is_empty()),
                (Ok(rows), None) => check(file, expected, &rows),
                (got, wanted) => panic!("{file}: {got:?}, {wanted:?}"),
            }
        }
        check(
            "gbk.csv",
            &expected["gbk.csv"]["with"]["--encoding gbk"],
            &read("gbk.csv", "gbk").unwrap(),
        );
    }

    #[test]
    fn a_refusal_names_what_is_wrong() {
        let refused = |file| format!("{:#}", read(file, "utf-8").unwrap_err());
        assert!(refused("gbk.csv").contains("line 2") && refused("gbk.csv").contains("--encoding gbk"));
        assert!(refused("renamed-column.csv").contains("room_id is missing"));
        assert!(refused("renamed-column.csv").contains("room is unknown"));
        assert!(refused("empty.csv").contains("no header"));
    }

    #[test]
    fn numbers_and_quotes_keep_their_text() {
        let big = read("big-int.csv", "utf-8").unwrap();
        assert!(
            big[1]
                .content
                .as_ref()
                .unwrap()
                .contains(r#""room_id":18446744073709551615"#)
        );
        let quoted = read("quoted.csv", "utf-8").unwrap();
        let payload: Value = serde_json::from_str(quoted[0].content.as_ref().unwrap()).unwrap();
        assert_eq!(
            (payload["title"].as_str(), payload["note"].as_str()),
            (Some("say \"hi\", twice"), Some("line one\nline two"))
        );
        assert_eq!(quoted[1].line, 4);
    }
}
