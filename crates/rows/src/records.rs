//! Parts a text into records, each with the line on which it starts: a quoted cell may go over several lines.

use std::io::{self, BufRead};

use plan::Format;

use crate::source::Text;

/// Most bytes of a record.
pub const RECORD_MAX: usize = 1024 * 1024;

/// A record as it stands in the text, without its line end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// The line of its start, from 1.
    pub(crate) line: u64,
    /// Its text; only the beginning where it is too long.
    pub(crate) text: String,
    /// Whether it has more than [`RECORD_MAX`] bytes.
    pub(crate) too_long: bool,
}

/// Records one after the other; blank lines are none.
pub(crate) struct Records {
    text: Text,
    format: Format,
    delimiter: u8,
    /// The line of the next byte.
    line: u64,
    /// A carriage return ended the last line: a line feed right behind it belongs to it.
    after_return: bool,
}

/// Where a byte of a CSV record stands. A quote opens only at the start of a cell; anywhere else it is text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    CellStart,
    Plain,
    Quoted,
    /// Behind a quote within a quoted cell: the end of the cell, or the first half of an escaped quote.
    QuoteEnd,
}

impl Place {
    const fn after(self, byte: u8, delimiter: u8) -> Self {
        match (self, byte) {
            (Self::CellStart, b'"') | (Self::QuoteEnd, b'"') => Self::Quoted,
            (Self::Quoted, b'"') => Self::QuoteEnd,
            (Self::Quoted, _) => Self::Quoted,
            (_, byte) if byte == delimiter => Self::CellStart,
            (_, _) => Self::Plain,
        }
    }
}

impl Records {
    pub(crate) const fn new(text: Text, format: Format, delimiter: u8) -> Self {
        Self {
            text,
            format,
            delimiter,
            line: 1,
            after_return: false,
        }
    }

    /// The next record.
    pub(crate) fn next(&mut self) -> io::Result<Option<Record>> {
        loop {
            let Some(record) = self.any()? else {
                return Ok(None);
            };
            if !record.text.trim().is_empty() {
                return Ok(Some(record));
            }
        }
    }

    /// The next record, which may be blank.
    fn any(&mut self) -> io::Result<Option<Record>> {
        let (start, mut bytes, mut place) = (self.line, Vec::new(), Place::CellStart);
        let (mut ended, mut any, mut too_long) = (false, false, false);
        while !ended {
            let buffer = self.text.fill_buf()?;
            if buffer.is_empty() {
                break;
            }
            let mut used = 0;
            for byte in buffer {
                used += 1;
                let half = std::mem::take(&mut self.after_return) && *byte == b'\n';
                if half && bytes.is_empty() {
                    continue;
                }
                any = true;
                let ends_line = ends_line(self.format, *byte);
                if ends_line && !half {
                    self.line += 1;
                }
                self.after_return = ends_line && *byte == b'\r';
                if ends_line && place != Place::Quoted {
                    ended = true;
                    break;
                }
                if self.format == Format::Csv {
                    place = place.after(*byte, self.delimiter);
                }
                if bytes.len() < RECORD_MAX {
                    bytes.push(*byte);
                } else {
                    too_long = true;
                }
            }
            self.text.consume(used);
        }
        if place == Place::Quoted {
            return Err(bad(format!(
                "line {start}: a quote is opened and never closed; write it as two quotes, or close it"
            )));
        }
        let text = text(bytes, too_long)?;
        Ok(any.then_some(Record {
            line: start,
            text,
            too_long,
        }))
    }
}

/// The bytes are known to be UTF-8, but a cut may go through a character.
fn text(mut bytes: Vec<u8>, too_long: bool) -> io::Result<String> {
    if too_long {
        let whole = std::str::from_utf8(&bytes).map_or_else(|error| error.valid_up_to(), str::len);
        bytes.truncate(whole);
    }
    String::from_utf8(bytes).map_err(|_| bad("it changed while it was read".to_owned()))
}

/// What is wrong with the text itself.
fn bad(reason: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

/// Old spreadsheets end lines with a carriage return alone; in JSON that is a blank.
const fn ends_line(format: Format, byte: u8) -> bool {
    byte == b'\n' || (byte == b'\r' && matches!(format, Format::Csv))
}

#[cfg(test)]
mod tests {
    use std::io::{Seek, Write};

    use super::*;

    fn records(text: &str, format: Format) -> io::Result<Vec<(u64, String)>> {
        let mut file = tempfile::tempfile()?;
        file.write_all(text.as_bytes())?;
        file.rewind()?;
        let mut records = Records::new(Text::new(file), format, b',');
        let mut all = Vec::new();
        while let Some(record) = records.next()? {
            all.push((record.line, record.text));
        }
        Ok(all)
    }

    fn of(all: &[(u64, String)]) -> Vec<(u64, &str)> {
        all.iter().map(|(line, text)| (*line, text.as_str())).collect()
    }

    #[test]
    fn a_record_s_line_is_its_first_whatever_ends_lines() {
        for end in ["\n", "\r\n", "\r"] {
            let text = ["a,b", "", "1,\"x", "", "y\"", "  ", "2,z"].join(end);
            let all = records(&text, Format::Csv).unwrap();
            let quoted = format!("1,\"x{end}{end}y\"");
            assert_eq!(of(&all), [(1, "a,b"), (3, &quoted), (7, "2,z")], "{end:?}");
        }
    }

    #[test]
    fn a_quote_within_a_cell_is_text() {
        let all = records(
            "a,b\n5\" pipe,1\n\"say \"\"hi\"\"\",2\n\"q\"x,\"3\"\n",
            Format::Csv,
        )
        .unwrap();
        assert_eq!(
            of(&all),
            [
                (1, "a,b"),
                (2, "5\" pipe,1"),
                (3, "\"say \"\"hi\"\"\",2"),
                (4, "\"q\"x,\"3\"")
            ]
        );
    }

    #[test]
    fn an_open_quote_is_refused_with_its_line() {
        let error = records("a,b\n1,2\n3,\"x\n4,5\n", Format::Csv)
            .unwrap_err()
            .to_string();
        assert!(error.contains("line 3"), "{error}");
    }

    #[test]
    fn lines_of_json_know_no_quotes() {
        let all = records("{\"a\":\"}\n\n\"b\r\n", Format::Jsonl).unwrap();
        assert_eq!(of(&all), [(1, "{\"a\":\"}"), (3, "\"b\r")]);
    }

    #[test]
    fn a_record_that_is_too_long_is_cut_and_the_next_one_is_found() {
        let long = "夜".repeat(RECORD_MAX / 2);
        let text = format!("{long}\n{{}}\n");
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file.rewind().unwrap();
        let mut records = Records::new(Text::new(file), Format::Jsonl, b',');
        let first = records.next().unwrap().unwrap();
        assert!(first.too_long && first.text.len() <= RECORD_MAX && first.text.ends_with('夜'));
        assert_eq!(records.next().unwrap().unwrap().line, 2);
    }
}
