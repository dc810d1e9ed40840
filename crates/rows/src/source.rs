//! The file as UTF-8 that can be read twice.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, Write};
use std::path::Path;

use encoding_rs::{Decoder, DecoderResult, Encoding, UTF_8};

use crate::Error;

/// Bytes read at a time.
const CHUNK: usize = 64 * 1024;

/// The text of a file.
pub(crate) type Text = BufReader<File>;

/// The name of an encoding by any of its labels, such as `utf8` or `GBK`; none where it is not known.
#[must_use]
pub fn encoding(label: &str) -> Option<&'static str> {
    Encoding::for_label(label.as_bytes()).map(Encoding::name)
}

/// A text that is checked to be UTF-8, or was made so.
#[derive(Debug)]
pub struct Source {
    file: File,
    name: String,
}

impl Source {
    /// Opens a file or a pipe, and checks it whole.
    ///
    /// # Errors
    /// Where it can't be read, or is not in this encoding (a label as [`encoding`] takes it).
    pub fn open(path: &Path, encoding: &str) -> Result<Self, Error> {
        let name = path.display().to_string();
        let file = opened(path).map_err(|error| Error::read(&name, error))?;
        Self::of(file, name, encoding)
    }

    /// The same of a file that is open; it is read from its start. `name` stands in messages.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn of(mut file: File, name: String, encoding: &str) -> Result<Self, Error> {
        let Some(known) = Encoding::for_label(encoding.as_bytes()) else {
            let reason = format!("the encoding {encoding:?} is not known; give one such as utf-8, gbk, big5");
            return Err(Error::refused(&name, reason));
        };
        file.rewind().map_err(|error| Error::read(&name, error))?;
        let file = decoded(file, known, &name)?;
        Ok(Self { file, name })
    }

    /// What it is called in messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
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

/// Copies what can be read only once into a file without a name, which can be read again.
///
/// # Errors
/// The system's.
pub fn spool(from: &mut impl Read) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    io::copy(from, &mut file)?;
    file.rewind()?;
    Ok(file)
}

/// The file itself where it is UTF-8, else a copy that is. A byte order mark is believed before the label.
fn decoded(mut file: File, label: &'static Encoding, name: &str) -> Result<File, Error> {
    let read = |error| Error::read(name, error);
    let mut head = Vec::new();
    (&mut file).take(3).read_to_end(&mut head).map_err(read)?;
    file.rewind().map_err(read)?;
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
    let mut copy = tempfile::tempfile().map_err(read)?;
    decode(
        &mut file,
        encoding.new_decoder_with_bom_removal(),
        name,
        &mut copy,
    )?;
    Ok(copy)
}

fn decode(file: &mut File, mut decoder: Decoder, name: &str, out: &mut impl Write) -> Result<(), Error> {
    let failed = |error| Error::read(name, error);
    let (mut lines, mut input, mut text) =
        (Lines::default(), vec![0; CHUNK], String::with_capacity(4 * CHUNK));
    loop {
        let read = file.read(&mut input).map_err(failed)?;
        let mut rest = &input[..read];
        loop {
            text.clear();
            let (result, used) = decoder.decode_to_string_without_replacement(rest, &mut text, read == 0);
            out.write_all(text.as_bytes()).map_err(failed)?;
            lines.count(text.as_bytes());
            rest = &rest[used..];
            match result {
                DecoderResult::InputEmpty => break,
                DecoderResult::OutputFull => {}
                DecoderResult::Malformed(..) => return Err(refusal(decoder.encoding(), lines.at(), name)),
            }
        }
        if read == 0 {
            return Ok(());
        }
    }
}

fn refusal(encoding: &'static Encoding, line: u64, name: &str) -> Error {
    Error::Encoding {
        name: name.to_owned(),
        encoding: encoding.name(),
        line,
        such_as: if encoding == UTF_8 { "gbk" } else { "utf-8" },
    }
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

    fn source(bytes: &[u8], encoding: &str) -> Result<String, Error> {
        let mut file = tempfile::Builder::new().suffix(".csv").tempfile().unwrap();
        file.write_all(bytes).unwrap();
        let source = Source::open(file.path(), encoding)?;
        let (mut first, mut again) = (String::new(), String::new());
        source.text().unwrap().read_to_string(&mut first).unwrap();
        source.text().unwrap().read_to_string(&mut again).unwrap();
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
        assert!(error.contains("line 4") && error.contains("gbk"), "{error}");
        let error = source(b"a\n\xff\xff", "gbk").unwrap_err().to_string();
        assert!(error.contains("GBK") && error.contains("line 2"), "{error}");
    }

    #[test]
    fn half_a_character_at_the_end_is_a_bad_byte() {
        assert!(source(b"a\n\xe5\xa4", "utf-8").is_err());
    }

    #[test]
    fn an_encoding_that_nobody_knows_is_refused() {
        let error = source(b"", "klingon").unwrap_err().to_string();
        assert!(error.contains("klingon") && error.contains("gbk"), "{error}");
        assert_eq!((encoding("utf8"), encoding("klingon")), (Some("UTF-8"), None));
    }
}
