//! Rows of a file: each a payload that matches the schema, or the reason why it can't run.

use std::io;

use admission::KnownType;
use plan::Format;
use serde_json::value::RawValue;

use crate::cells::{self, Column};
use crate::records::{RECORD_MAX, Record, Records};
use crate::{Error, Source};

/// One row.
#[derive(Debug, PartialEq, Eq)]
pub struct Row {
    /// The line of its start, from 1, header included.
    pub line: u64,
    /// The payload's text, or what is wrong.
    pub content: Result<String, Fault>,
}

/// Why a row can't run.
#[derive(Debug, PartialEq, Eq)]
pub struct Fault {
    /// The column, if it is one's fault.
    pub column: Option<String>,
    /// Why.
    pub reason: String,
    /// What stood there, as a text.
    pub row: String,
}

/// Reads row by row.
pub struct Reader<'p> {
    source: &'p Source,
    how: &'p plan::Rows,
    known: &'p KnownType,
    records: Records,
    columns: Vec<Column>,
}

impl std::fmt::Debug for Reader<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader")
            .field("source", self.source)
            .finish_non_exhaustive()
    }
}

/// The one ASCII character that parts cells.
fn delimiter(how: &plan::Rows) -> u8 {
    u8::try_from(how.delimiter).unwrap_or(b',')
}

fn cells_of(how: &plan::Rows, record: &str) -> io::Result<csv::StringRecord> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter(how))
        .buffer_capacity(record.len().max(64))
        .from_reader(record.as_bytes());
    let mut cells = csv::StringRecord::new();
    reader.read_record(&mut cells)?;
    Ok(cells)
}

impl<'p> Reader<'p> {
    /// Reads the header of a CSV file, and checks it against the type of the rows.
    ///
    /// # Errors
    /// What refuses the whole file.
    pub fn open(source: &'p Source, how: &'p plan::Rows, known: &'p KnownType) -> Result<Self, Error> {
        let text = source.text().map_err(|error| Error::read(source.name(), error))?;
        let mut reader = Self {
            source,
            how,
            known,
            records: Records::new(text, how.format, delimiter(how)),
            columns: Vec::new(),
        };
        if how.format == Format::Csv {
            reader.columns = reader.header()?;
        }
        Ok(reader)
    }

    /// Reads to the end; the number of rows.
    ///
    /// # Errors
    /// What refuses the whole file.
    pub fn count(mut self) -> Result<u64, Error> {
        let mut rows = 0;
        while let Some(record) = self.record()? {
            if record.too_long && self.how.format == Format::Csv {
                let line = record.line;
                return Err(self.refused(format!(
                    "the record on line {line} has more than {RECORD_MAX} bytes; is a quote missing?"
                )));
            }
            rows += 1;
        }
        Ok(rows)
    }

    fn refused(&self, reason: impl Into<String>) -> Error {
        Error::refused(self.source.name(), reason)
    }

    fn record(&mut self) -> Result<Option<Record>, Error> {
        self.records.next().map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => self.refused(error.to_string()),
            _ => Error::read(self.source.name(), error),
        })
    }

    fn header(&mut self) -> Result<Vec<Column>, Error> {
        let Some(record) = self.record()? else {
            return Err(self.refused("no header; the first line names the columns"));
        };
        if record.too_long {
            return Err(self.refused(format!(
                "the header has more than {RECORD_MAX} bytes; its first line names the columns"
            )));
        }
        let cells = cells_of(self.how, &record.text).map_err(|error| self.refused(error.to_string()))?;
        let names: Vec<_> = cells.iter().map(str::to_owned).collect();
        cells::columns(&names, &self.how.map, self.known.spec()).map_err(|reason| self.refused(reason))
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
        let payload = match self.how.format {
            Format::Jsonl => {
                let text = text.trim();
                serde_json::from_str::<&RawValue>(text)
                    .map_err(|error| fault(None, format!("is no JSON: {error}")))?;
                text.to_owned()
            }
            Format::Csv => self
                .object(text)
                .map_err(|(column, reason)| fault(column, reason))?,
        };
        let faults = self.known.faults(payload.as_bytes());
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
        let cells = cells_of(self.how, record).map_err(|error| (None, error.to_string()))?;
        let (has, wants) = (cells.len(), self.columns.len());
        if has != wants {
            return Err((None, format!("has {has} cells, the header has {wants}")));
        }
        cells::payload(&self.columns, cells.iter()).map_err(|bad| (Some(bad.column), bad.reason))
    }
}

impl Iterator for Reader<'_> {
    type Item = Result<Row, Error>;

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

    use domain::TypeSpec;
    use serde_json::Value;

    use super::*;

    const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../cases/batch");

    fn case(name: &str) -> Value {
        serde_json::from_str(&std::fs::read_to_string(Path::new(CASES).join(name)).unwrap()).unwrap()
    }

    fn read(file: &str, encoding: &str) -> Result<Vec<Row>, Error> {
        let mut spec: TypeSpec = serde_json::from_str(r#"{"name":"a","handler":"echo"}"#).unwrap();
        spec.input_schema = Some(case("schema.json"));
        let known = KnownType::new(spec).unwrap();
        let format = if file.ends_with(".jsonl") {
            Format::Jsonl
        } else {
            Format::Csv
        };
        let how = plan::Rows::new(format);
        let source = Source::open(&Path::new(CASES).join(file), encoding)?;
        let rows: Vec<_> = Reader::open(&source, &how, &known)?.collect::<Result<_, _>>()?;
        assert_eq!(Reader::open(&source, &how, &known)?.count()?, rows.len() as u64);
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
                (Err(error), Some(_)) => assert!(!error.to_string().is_empty()),
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
        let refused = |file| read(file, "utf-8").unwrap_err().to_string();
        assert!(refused("gbk.csv").contains("line 2") && refused("gbk.csv").contains("such as gbk"));
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
