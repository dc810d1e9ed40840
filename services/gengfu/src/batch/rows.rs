//! Rows of a file: each a payload that matches the schema, or the reason why it can't run.

use std::io;

use anyhow::{Context, bail};
use serde_json::value::RawValue;

use super::Plan;
use super::cells::{self, Column};
use super::records::{RECORD_MAX, Record, Records};
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

fn cells_of(plan: &Plan, record: &str) -> io::Result<csv::StringRecord> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(plan.delimiter)
        .buffer_capacity(record.len().max(64))
        .from_reader(record.as_bytes());
    let mut cells = csv::StringRecord::new();
    reader.read_record(&mut cells)?;
    Ok(cells)
}

impl<'p> Rows<'p> {
    /// Reads the header of a CSV file, and checks it.
    pub(crate) fn open(plan: &'p Plan) -> anyhow::Result<Self> {
        let source = &plan.source;
        let text = source
            .text()
            .with_context(|| format!("{} can't be read", source.name))?;
        let mut records = Records::new(text, source.shape, plan.delimiter);
        let columns = match source.shape {
            Shape::Csv => header(plan, &mut records).with_context(|| source.name.clone())?,
            Shape::Jsonl => Vec::new(),
        };
        Ok(Self {
            plan,
            records,
            columns,
        })
    }

    /// Reads to the end; the number of rows.
    ///
    /// # Errors
    /// What refuses the whole file.
    pub(crate) fn count(mut self) -> anyhow::Result<u64> {
        let mut rows = 0;
        while let Some(record) = self.record()? {
            if record.too_long && self.plan.source.shape == Shape::Csv {
                let name = &self.plan.source.name;
                bail!(
                    "{name}: the record on line {} has more than {RECORD_MAX} bytes; is a quote missing?",
                    record.line
                );
            }
            rows += 1;
        }
        Ok(rows)
    }

    fn record(&mut self) -> anyhow::Result<Option<Record>> {
        self.records.next().with_context(|| self.plan.source.name.clone())
    }

    fn content(&self, record: &Record) -> Result<String, Fault> {
        let text = record.text.as_str();
        let fault = |column: Option<String>, reason: String| Fault {
            column,
            reason,
            row: text.to_owned(),
        };
        if record.too_long {
            return Err(fault(None, format!("has more than {RECORD_MAX} bytes")));
        }
        let payload = match self.plan.source.shape {
            Shape::Jsonl => {
                let text = text.trim();
                serde_json::from_str::<&RawValue>(text)
                    .map_err(|error| fault(None, format!("is no JSON: {error}")))?;
                text.to_owned()
            }
            Shape::Csv => self
                .object(text)
                .map_err(|(column, reason)| fault(column, reason))?,
        };
        let faults = self.plan.known.faults(payload.as_bytes());
        match faults
            .iter()
            .find(|fault| fault.column().is_some())
            .or(faults.first())
        {
            None => Ok(payload),
            Some(found) => Err(fault(found.column().map(str::to_owned), found.reason.clone())),
        }
    }

    /// The payload of a record of cells, or the column and the reason.
    fn object(&self, record: &str) -> Result<String, (Option<String>, String)> {
        let cells = cells_of(self.plan, record).map_err(|error| (None, error.to_string()))?;
        let (has, wants) = (cells.len(), self.columns.len());
        if has != wants {
            return Err((None, format!("has {has} cells, the header has {wants}")));
        }
        cells::payload(&self.columns, cells.iter()).map_err(|bad| (Some(bad.column), bad.reason))
    }
}

fn header(plan: &Plan, records: &mut Records) -> anyhow::Result<Vec<Column>> {
    let Some(record) = records.next()? else {
        bail!("no header; the first line names the columns")
    };
    if record.too_long {
        bail!("the header has more than {RECORD_MAX} bytes; its first line names the columns");
    }
    let names: Vec<_> = cells_of(plan, &record.text)?.iter().map(str::to_owned).collect();
    cells::columns(&names, &plan.renamed, plan.known.spec()).map_err(anyhow::Error::msg)
}

impl Iterator for Rows<'_> {
    type Item = anyhow::Result<Row>;

    fn next(&mut self) -> Option<Self::Item> {
        let record = self.record().transpose()?;
        Some(record.map(|record| Row {
            line: record.line,
            content: self.content(&record),
        }))
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
            source: Source::open(&Path::new(CASES).join(file), None, encoding)?,
            known: KnownType::new(spec).unwrap(),
            delimiter: b',',
            renamed: Vec::new(),
            batch: TaskId::new(0, [0; 10]),
        };
        let rows: Vec<_> = Rows::open(&plan)?.collect::<anyhow::Result<_>>()?;
        assert_eq!(Rows::open(&plan)?.count()?, rows.len() as u64);
        Ok(rows)
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
        let title = &read("gbk.csv", "gbk").unwrap()[0];
        let wanted = expected["gbk.csv"]["with"]["--encoding gbk"]["title_of_row_2"]
            .as_str()
            .unwrap();
        assert!(title.line == 2 && title.content.as_ref().unwrap().contains(wanted));
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
        let lines = read("lines.jsonl", "utf-8").unwrap();
        let line = std::fs::read_to_string(Path::new(CASES).join("lines.jsonl")).unwrap();
        assert_eq!(lines[1].content.as_deref(), Ok(line.lines().nth(2).unwrap()));
        let quoted = read("quoted.csv", "utf-8").unwrap();
        let payload: Value = serde_json::from_str(quoted[0].content.as_ref().unwrap()).unwrap();
        assert_eq!(
            (payload["title"].as_str(), payload["note"].as_str()),
            (Some("say \"hi\", twice"), Some("line one\nline two"))
        );
        assert_eq!(quoted[1].line, 4);
    }
}
