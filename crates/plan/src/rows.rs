//! How rows are written: their format, encoding, delimiter, and the names of their columns.

use std::collections::BTreeMap;

use encoding_rs::Encoding;

use crate::fields::Fields;
use crate::object::Object;

/// How rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Cells; the first line names the columns.
    Csv,
    /// A line of JSON each.
    Jsonl,
}

impl Format {
    /// The word used in definitions.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Jsonl => "jsonl",
        }
    }

    /// The one of this word.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        [Self::Csv, Self::Jsonl]
            .into_iter()
            .find(|format| format.as_str() == word)
    }

    /// What a file's name says.
    fn of_name(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        match name.rsplit_once('.')?.1 {
            "csv" => Some(Self::Csv),
            "jsonl" | "ndjson" => Some(Self::Jsonl),
            _ => None,
        }
    }
}

/// How the rows of a file or a URL are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rows {
    /// How they are written.
    pub format: Format,
    /// The encoding's name, such as `UTF-8` or `GBK`.
    pub encoding: &'static str,
    /// What parts the cells of CSV.
    pub delimiter: char,
    /// Which column gives a field, where they have different names.
    pub map: BTreeMap<String, String>,
}

impl Rows {
    /// Rows of UTF-8, with commas and without renamed columns.
    #[must_use]
    pub fn new(format: Format) -> Self {
        Self {
            format,
            encoding: encoding_rs::UTF_8.name(),
            delimiter: ',',
            map: BTreeMap::new(),
        }
    }

    pub(crate) fn write(&self, object: &mut Object) {
        object.text("format", self.format.as_str());
        object.text("encoding", self.encoding);
        if self.delimiter != ',' {
            object.text("delimiter", &self.delimiter.to_string());
        }
        if !self.map.is_empty() {
            let mut map = Object::default();
            for (field, column) in &self.map {
                map.text(field, column);
            }
            object.raw("map", &map.finish());
        }
    }
}

/// Reads the fields that say how rows are written; `name` is what they are called, which may tell the format.
pub(crate) fn rows(fields: &mut Fields<'_>, name: &str) -> Option<Rows> {
    let said = fields.word("format", "csv or jsonl", Format::named);
    let format = said.or_else(|| Format::of_name(name));
    if format.is_none() && fields.problems.is_empty() {
        fields.fault(
            "format",
            "is missing, and the name does not end in .csv or .jsonl",
            "write csv or jsonl",
        );
    }
    let encoding = fields.word("encoding", "one such as utf-8 or gbk", |label| {
        Encoding::for_label(label.as_bytes())
    });
    let delimiter = fields.word("delimiter", "one ASCII character, such as ; or \\t", |text| {
        let mut letters = text.chars();
        let one = letters
            .next()
            .filter(|c| c.is_ascii() && !matches!(c, '"' | '\r' | '\n'));
        one.filter(|_| letters.next().is_none())
    });
    let map = renamed(fields);
    let format = format?;
    if format == Format::Jsonl && (delimiter.is_some() || !map.is_empty()) {
        fields.fault(
            "format",
            "is jsonl, which has neither delimiter nor map",
            "take those out",
        );
    }
    Some(Rows {
        format,
        encoding: encoding.unwrap_or(encoding_rs::UTF_8).name(),
        delimiter: delimiter.unwrap_or(','),
        map,
    })
}

fn renamed(fields: &mut Fields<'_>) -> BTreeMap<String, String> {
    let Some(raw) = fields.raw("map") else {
        return BTreeMap::new();
    };
    serde_json::from_str(raw).unwrap_or_else(|_| {
        fields.fault("map", "is no list of fields and columns", "write {field: column}");
        BTreeMap::new()
    })
}
