//! Parts a text into records, each with the line on which it starts: a quoted cell may go over several lines.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};

use anyhow::bail;

use super::source::Shape;

/// Most bytes of a record.
pub(crate) const RECORD_MAX: usize = 1024 * 1024;

/// Records with the line of their start, from 1; blank lines are none.
pub(crate) struct Records {
    text: BufReader<File>,
    shape: Shape,
    line: u64,
}

impl Records {
    pub(crate) const fn new(text: BufReader<File>, shape: Shape) -> Self {
        Self { text, shape, line: 0 }
    }

    /// The next record without its line end.
    pub(crate) fn next(&mut self) -> anyhow::Result<Option<(u64, String)>> {
        let mut record = String::new();
        let mut start = 0;
        loop {
            let before = record.len();
            let room = (RECORD_MAX - before) as u64;
            if (&mut self.text).take(room).read_line(&mut record)? == 0 {
                if record.is_empty() {
                    return Ok(None);
                }
                bail!(
                    "line {start}: a quote is opened and never closed; write it as two quotes, or close it"
                );
            }
            self.line += 1;
            if before == 0 {
                start = self.line;
            }
            if record.len() >= RECORD_MAX {
                bail!("line {start}: a record is longer than {RECORD_MAX} bytes; is a quote missing?");
            }
            let open =
                self.shape == Shape::Csv && record.bytes().filter(|byte| *byte == b'"').count() % 2 == 1;
            if open {
                continue;
            }
            if record.trim().is_empty() {
                record.clear();
                continue;
            }
            let end = record.trim_end_matches(['\r', '\n']).len();
            record.truncate(end);
            return Ok(Some((start, record)));
        }
    }
}
