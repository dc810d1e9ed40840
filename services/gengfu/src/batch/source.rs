//! The file as UTF-8 that can be read twice.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, Write};
use std::path::Path;

use anyhow::{Context, bail};
use encoding_rs::{Decoder, DecoderResult, Encoding, UTF_8};

/// Bytes read at a time.
const CHUNK: usize = 64 * 1024;

/// The text of a file.
pub(crate) type Text = BufReader<File>;

/// Whether a row is a record of cells or a line of JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Shape {
    /// Cells, the first line names the columns.
    Csv,
    /// A line of JSON.
    Jsonl,
}

/// A file that is checked to be UTF-8, or was made so.
#[derive(Debug)]
pub(crate) struct Source {
    file: File,
    pub(crate) shape: Shape,
    pub(crate) name: String,
}

impl Source {
    /// Checks the whole file.
    pub(crate) fn open(path: &Path, shape: Option<Shape>, encoding: &str) -> anyhow::Result<Self> {
        let name = path.display().to_string();
        let shape = match shape {
            Some(shape) => shape,
            None => shape_of(path)?,
        };
        let Some(known) = Encoding::for_label(encoding.as_bytes()) else {
            bail!(
                "--encoding {encoding:?} is not known; give a name such as utf-8, gbk, big5, shift_jis, windows-1252"
            );
        };
        let file = if name == "-" {
            spool(&mut io::stdin()).context("standard input can't be read")?
        } else {
            opened(path).with_context(|| format!("{name} can't be read"))?
        };
        let file = decoded(file, known, &name)?;
        Ok(Self { file, shape, name })
    }

    /// The text from its start, without a byte order mark.
    pub(crate) fn text(&self) -> io::Result<Text> {
        let mut file = self.file.try_clone()?;
        file.rewind()?;
        let mut text = Text::with_capacity(CHUNK, file);
        if text.fill_buf()?.starts_with(b"\xef\xbb\xbf") {
            text.consume(3);
        }
        Ok(text)
    }
}

fn shape_of(path: &Path) -> anyhow::Result<Shape> {
    if path.as_os_str() == "-" {
        return Ok(Shape::Csv);
    }
    let ending = path
        .extension()
        .and_then(|ending| ending.to_str())
        .unwrap_or_default();
    match ending.to_ascii_lowercase().as_str() {
        "csv" | "tsv" | "txt" => Ok(Shape::Csv),
        "jsonl" | "ndjson" => Ok(Shape::Jsonl),
        _ => bail!(
            "{} ends neither in .csv nor in .jsonl; say --format csv or --format jsonl",
            path.display()
        ),
    }
}

/// A pipe can be read once only: it is spooled.
fn opened(path: &Path) -> io::Result<File> {
    let mut file = File::open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_dir() {
        return Err(io::Error::other("it is a folder"));
    }
    if kind.is_file() {
        Ok(file)
    } else {
        spool(&mut file)
    }
}

fn spool(from: &mut impl Read) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    io::copy(from, &mut file)?;
    file.rewind()?;
    Ok(file)
}

/// The file itself where it is UTF-8, else a copy that is. A byte order mark is believed before the label.
fn decoded(mut file: File, label: &'static Encoding, name: &str) -> anyhow::Result<File> {
    let mut head = Vec::new();
    (&mut file).take(3).read_to_end(&mut head)?;
    file.rewind()?;
    let encoding = Encoding::for_bom(&head).map_or(label, |(marked, _)| marked);
    if encoding == UTF_8 {
        decode(
            &mut file,
            UTF_8.new_decoder_without_bom_handling(),
            name,
            &mut io::sink(),
        )?;
        return Ok(file);
    }
    let mut copy = tempfile::tempfile()?;
    decode(
        &mut file,
        encoding.new_decoder_with_bom_removal(),
        name,
        &mut copy,
    )?;
    Ok(copy)
}

fn decode(file: &mut File, mut decoder: Decoder, name: &str, out: &mut impl Write) -> anyhow::Result<()> {
    let (mut lines, mut input, mut text) =
        (Lines::default(), vec![0; CHUNK], String::with_capacity(4 * CHUNK));
    loop {
        let read = file.read(&mut input)?;
        let mut rest = &input[..read];
        loop {
            text.clear();
            let (result, used) = decoder.decode_to_string_without_replacement(rest, &mut text, read == 0);
            out.write_all(text.as_bytes())?;
            lines.count(text.as_bytes());
            rest = &rest[used..];
            match result {
                DecoderResult::InputEmpty => break,
                DecoderResult::OutputFull => {}
                DecoderResult::Malformed(..) => bail!(refusal(decoder.encoding(), lines.at(), name)),
            }
        }
        if read == 0 {
            return Ok(());
        }
    }
}

fn refusal(encoding: &'static Encoding, line: u64, name: &str) -> String {
    let try_it = match encoding == UTF_8 {
        true => "try --encoding gbk, or the encoding that it has",
        false => "give the encoding that it has",
    };
    format!(
        "{name} is not {}: the first bad byte is on line {line}; {try_it}",
        encoding.name()
    )
}

/// Counts line ends of every kind.
#[derive(Debug, Default)]
struct Lines {
    ended: u64,
    after_return: bool,
}

impl Lines {
    fn count(&mut self, text: &[u8]) {
        for byte in text {
            let half = *byte == b'\n' && self.after_return;
            self.ended += u64::from(matches!(byte, b'\n' | b'\r') && !half);
            self.after_return = *byte == b'\r';
        }
    }

    const fn at(&self) -> u64 {
        self.ended + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(bytes: &[u8], encoding: &str) -> anyhow::Result<String> {
        let mut file = tempfile::Builder::new().suffix(".csv").tempfile()?;
        file.write_all(bytes)?;
        let source = Source::open(file.path(), None, encoding)?;
        let (mut first, mut again) = (String::new(), String::new());
        source.text()?.read_to_string(&mut first)?;
        source.text()?.read_to_string(&mut again)?;
        assert_eq!(first, again);
        Ok(first)
    }

    #[test]
    fn marks_are_believed_and_taken_off() {
        let wide: Vec<_> = "夜,a\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        for (bytes, label) in [
            ("\u{feff}夜,a\n".as_bytes().to_vec(), "utf-8"),
            ("\u{feff}夜,a\n".as_bytes().to_vec(), "gbk"),
            ([b"\xff\xfe".as_slice(), &wide].concat(), "utf-8"),
            (wide, "utf-16le"),
            (b"\xd2\xb9,a\n".to_vec(), "gbk"),
        ] {
            assert_eq!(source(&bytes, label).unwrap(), "夜,a\n", "{label}");
        }
    }

    #[test]
    fn the_line_of_the_first_bad_byte_is_told_also_far_into_the_file() {
        let mut bytes = "夜".repeat(CHUNK).into_bytes();
        bytes.extend_from_slice(b"\r\nb\rc\nd\xff");
        let error = source(&bytes, "utf-8").unwrap_err().to_string();
        assert!(
            error.contains("line 4") && error.contains("--encoding gbk"),
            "{error}"
        );
        let error = source(b"a\n\xff\xff", "gbk").unwrap_err().to_string();
        assert!(error.contains("GBK") && error.contains("line 2"), "{error}");
    }

    #[test]
    fn half_a_character_at_the_end_is_a_bad_byte() {
        assert!(source(b"a\n\xe5\xa4", "utf-8").is_err());
    }

    #[test]
    fn what_has_no_known_shape_or_encoding_is_refused() {
        let error = Source::open(Path::new("rows.xlsx"), None, "utf-8")
            .unwrap_err()
            .to_string();
        assert!(error.contains("--format"), "{error}");
        assert!(
            source(b"", "klingon")
                .unwrap_err()
                .to_string()
                .contains("klingon")
        );
    }
}
