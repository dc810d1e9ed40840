//! The file of a batch, and how its rows are read.

use std::fs::File;
use std::io;
use std::path::Path;

use anyhow::{Context, anyhow, bail};
use plan::{Format, Rows};
use rows::{Error, Source};

use super::Args;

/// The name of standard input.
const STDIN: &str = "-";

/// What the command line says of the rows.
pub(super) fn how(args: &Args) -> anyhow::Result<Rows> {
    let format = match args.format {
        Some(format) => format,
        None => format_of(&args.file)?,
    };
    if format == Format::Jsonl && !args.map.is_empty() {
        bail!("--map names columns, and lines of JSON have none");
    }
    let Some(encoding) = rows::encoding(&args.encoding) else {
        let asked = &args.encoding;
        bail!(
            "--encoding {asked:?} is not known; give a name such as utf-8, gbk, big5, shift_jis, windows-1252"
        );
    };
    Ok(Rows {
        encoding,
        delimiter: args.delimiter,
        map: args.map.iter().cloned().collect(),
        ..Rows::new(format)
    })
}

/// Opens the file, and checks that it is in its encoding; standard input is spooled.
pub(super) fn source(path: &Path, encoding: &str) -> anyhow::Result<Source> {
    if path.as_os_str() != STDIN {
        return Source::open(path, encoding).map_err(told);
    }
    let spooled: io::Result<File> = rows::spool(&mut io::stdin());
    let file = spooled.context("standard input can't be read")?;
    Source::of(file, STDIN.to_owned(), encoding).map_err(told)
}

/// A refusal, with the flags that would help.
pub(super) fn told(error: Error) -> anyhow::Error {
    match error {
        Error::Encoding {
            name,
            encoding,
            line,
            such_as,
        } => anyhow!(
            "{name} is not {encoding}: the first bad byte is on line {line}; try --encoding {such_as}, or the encoding that it has"
        ),
        other => other.into(),
    }
}

fn format_of(path: &Path) -> anyhow::Result<Format> {
    if path.as_os_str() == STDIN {
        return Ok(Format::Csv);
    }
    let ending = path
        .extension()
        .and_then(|ending| ending.to_str())
        .unwrap_or_default();
    match ending.to_ascii_lowercase().as_str() {
        "csv" | "tsv" | "txt" => Ok(Format::Csv),
        "jsonl" | "ndjson" => Ok(Format::Jsonl),
        _ => bail!(
            "{} ends neither in .csv nor in .jsonl; say --format csv or --format jsonl",
            path.display()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_the_format_or_a_flag_has_to() {
        assert_eq!(format_of(Path::new("a.TSV")).unwrap(), Format::Csv);
        assert_eq!(format_of(Path::new("-")).unwrap(), Format::Csv);
        assert_eq!(format_of(Path::new("a.ndjson")).unwrap(), Format::Jsonl);
        let error = format_of(Path::new("rows.xlsx")).unwrap_err().to_string();
        assert!(error.contains("--format"), "{error}");
    }
}
