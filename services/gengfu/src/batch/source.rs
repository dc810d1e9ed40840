//! The file as UTF-8 that can be read twice.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, Write};
use std::path::Path;

use anyhow::{Context, bail};
use encoding_rs::{DecoderResult, Encoding, UTF_8};

/// Bytes read at a time.
const CHUNK: usize = 64 * 1024;

/// Whether a row is a record of cells or a line of JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Csv,
    Jsonl,
}

/// A file that is checked to be UTF-8, or was made so.
pub(crate) struct Source {
    file: File,
    pub(crate) shape: Shape,
    pub(crate) name: String,
}

impl Source {
    pub(crate) fn open(path: &Path, encoding: &str) -> anyhow::Result<Self> {
        let name = path.display().to_string();
        let shape = match path.extension().and_then(|ending| ending.to_str()) {
            _ if name == "-" => Shape::Csv,
            Some("csv" | "tsv" | "txt") => Shape::Csv,
            Some("jsonl" | "ndjson") => Shape::Jsonl,
            _ => bail!("{name} ends neither in .csv nor in .jsonl; rename it so that its shape is known"),
        };
        let Some(known) = Encoding::for_label(encoding.as_bytes()) else {
            bail!(
                "--encoding {encoding:?} is not known; give a name such as utf-8, gbk, big5, shift_jis, windows-1252"
            );
        };
        let file = if name == "-" {
            spool()?
        } else {
            File::open(path).with_context(|| format!("{name} can't be read"))?
        };
        let file = if known == UTF_8 {
            checked(file, &name)?
        } else {
            decoded(file, known, &name)?
        };
        Ok(Self { file, shape, name })
    }

    /// The text from its start, without a byte order mark.
    pub(crate) fn text(&self) -> io::Result<BufReader<File>> {
        let mut file = self.file.try_clone()?;
        file.rewind()?;
        let mut text = BufReader::with_capacity(CHUNK, file);
        if text.fill_buf()?.starts_with(b"\xef\xbb\xbf") {
            text.consume(3);
        }
        Ok(text)
    }
}

fn spool() -> anyhow::Result<File> {
    let mut file = tempfile::tempfile()?;
    io::copy(&mut io::stdin(), &mut file).context("standard input can't be read")?;
    file.rewind()?;
    Ok(file)
}

fn checked(file: File, name: &str) -> anyhow::Result<File> {
    let mut reader = BufReader::with_capacity(CHUNK, file.try_clone()?);
    let (mut at, mut bytes) = (0_u64, Vec::new());
    loop {
        bytes.clear();
        // No line of text is so long; a file without line ends shall not fill the memory.
        if (&mut reader)
            .take(super::records::RECORD_MAX as u64)
            .read_until(b'\n', &mut bytes)?
            == 0
        {
            return Ok(file);
        }
        at += 1;
        if let Err(error) = std::str::from_utf8(&bytes) {
            let column = error.valid_up_to() + 1;
            bail!(
                "{name} is not UTF-8: the first bad byte is on line {at} (byte {column} of it); try --encoding gbk, or the encoding that it has"
            );
        }
    }
}

fn decoded(file: File, encoding: &'static Encoding, name: &str) -> anyhow::Result<File> {
    let (mut reader, mut out) = (BufReader::new(file), tempfile::tempfile()?);
    let mut decoder = encoding.new_decoder();
    let (mut line, mut input, mut text) = (1_u64, vec![0; CHUNK], String::with_capacity(4 * CHUNK));
    loop {
        let read = reader.read(&mut input)?;
        let mut rest = &input[..read];
        loop {
            text.clear();
            let (result, used) = decoder.decode_to_string_without_replacement(rest, &mut text, read == 0);
            out.write_all(text.as_bytes())?;
            line += text.bytes().filter(|byte| *byte == b'\n').count() as u64;
            rest = &rest[used..];
            match result {
                DecoderResult::InputEmpty => break,
                DecoderResult::OutputFull => {}
                DecoderResult::Malformed(..) => {
                    bail!(
                        "{name} is not {}: the first bad byte is on line {line}; give the encoding that it has",
                        encoding.name()
                    )
                }
            }
        }
        if read == 0 {
            return Ok(out);
        }
    }
}
