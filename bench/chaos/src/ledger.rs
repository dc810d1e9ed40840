//! The ledger of effects: a file outside the town, to which every run appends what it does.
//!
//! A line is `MARK TASK ATTEMPT TOKEN NANOSECONDS`, appended in one write; the time is that of the machine's monotonic
//! clock, which all processes share.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// What a run says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// It begins.
    Begin,
    /// It goes on: an effect.
    Alive,
    /// It ends well; its last effect.
    End,
    /// It ends badly.
    Fail,
}

impl Mark {
    const fn letter(self) -> char {
        match self {
            Self::Begin => 'B',
            Self::Alive => 'A',
            Self::End => 'E',
            Self::Fail => 'F',
        }
    }

    fn of(letter: &str) -> Option<Self> {
        [Self::Begin, Self::Alive, Self::End, Self::Fail]
            .into_iter()
            .find(|mark| letter.starts_with(mark.letter()))
    }
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// What happened.
    pub mark: Mark,
    /// The task's id.
    pub task: String,
    /// The number of the attempt.
    pub attempt: u32,
    /// The attempt's fencing token, 32 digits.
    pub token: String,
    /// When, by the machine's monotonic clock.
    pub at: Duration,
}

/// The machine's monotonic clock, the same in every process.
#[must_use]
pub fn now() -> Duration {
    // The clock is one that every Linux has.
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(Duration::ZERO, Duration::from)
}

/// One run's pen.
#[derive(Debug)]
pub struct Pen {
    file: File,
    task: String,
    attempt: u32,
    token: String,
}

impl Pen {
    /// Opens the ledger for an attempt.
    ///
    /// # Errors
    /// The file can't be opened.
    pub fn open(ledger: &Path, task: &str, attempt: u32, token: &str) -> io::Result<Self> {
        Ok(Self {
            file: File::options().append(true).create(true).open(ledger)?,
            task: task.to_owned(),
            attempt,
            token: token.to_owned(),
        })
    }

    /// Appends a line.
    ///
    /// # Errors
    /// The file can't be written.
    pub fn write(&mut self, mark: Mark) -> io::Result<()> {
        let (letter, at) = (mark.letter(), now().as_nanos());
        let line = format!("{letter} {} {} {} {at}\n", self.task, self.attempt, self.token);
        self.file.write_all(line.as_bytes())
    }
}

/// Every line, in the order in which they were appended.
///
/// # Errors
/// The file can't be read, or holds something else.
pub fn read(ledger: &Path) -> io::Result<Vec<Line>> {
    let text = std::fs::read_to_string(ledger)?;
    text.lines()
        .map(|line| parse(line).ok_or_else(|| io::Error::other(format!("no line of a ledger: {line:?}"))))
        .collect()
}

fn parse(line: &str) -> Option<Line> {
    let mut words = line.split(' ');
    Some(Line {
        mark: Mark::of(words.next()?)?,
        task: words.next()?.to_owned(),
        attempt: words.next()?.parse().ok()?,
        token: words.next()?.to_owned(),
        at: Duration::from_nanos(words.next()?.parse().ok()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = folder.path().join("ledger");
        let mut pens = [1, 2].map(|attempt| Pen::open(&ledger, "task", attempt, "0f").unwrap());
        pens[0].write(Mark::Begin).unwrap();
        pens[1].write(Mark::End).unwrap();
        let lines = read(&ledger).unwrap();
        let marks: Vec<_> = lines.iter().map(|line| (line.mark, line.attempt)).collect();
        assert_eq!(marks, [(Mark::Begin, 1), (Mark::End, 2)]);
        assert!(lines[0].at <= lines[1].at && lines[0].task == "task" && lines[0].token == "0f");
        std::fs::write(&ledger, "nonsense\n").unwrap();
        assert!(read(&ledger).is_err());
    }
}
