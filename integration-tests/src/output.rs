//! What a process printed, kept while it runs, so that a test can wait for a line instead of for a time.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// Older lines are dropped; a test that reads this much reads the end.
const LINES: usize = 100_000;
const TAIL: usize = 60;

/// The lines of a process's standard output and error, in the order in which they came.
#[derive(Debug, Clone)]
pub struct Output {
    name: String,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    lines: Mutex<Lines>,
    came: Condvar,
}

#[derive(Debug, Default)]
struct Lines {
    kept: VecDeque<String>,
    dropped: usize,
    streams: usize,
}

impl Output {
    pub(crate) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            shared: Arc::default(),
        }
    }

    /// Reads a stream to its end on a thread of its own.
    pub(crate) fn follow(&self, stream: impl Read + Send + 'static) {
        self.lock().streams += 1;
        let output = self.clone();
        std::thread::spawn(move || {
            let mut reader = BufReader::new(stream);
            let mut line = Vec::new();
            while matches!(reader.read_until(b'\n', &mut line), Ok(1..)) {
                output.push(String::from_utf8_lossy(&line).trim_end().to_owned());
                line.clear();
            }
            output.lock().streams -= 1;
            output.shared.came.notify_all();
        });
    }

    fn push(&self, line: String) {
        let mut lines = self.lock();
        if lines.kept.len() == LINES {
            lines.kept.pop_front();
            lines.dropped += 1;
        }
        lines.kept.push_back(line);
        drop(lines);
        self.shared.came.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Lines> {
        self.shared.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many lines came so far: a mark for [`Output::wait_after`].
    pub fn mark(&self) -> usize {
        let lines = self.lock();
        lines.dropped + lines.kept.len()
    }

    /// The first line that contains `wanted`, waited for up to `limit`.
    ///
    /// # Errors
    /// No such line came, or the process closed its output without one; the error shows the last lines.
    pub fn wait_for(&self, wanted: &str, limit: Duration) -> Result<String> {
        self.wait_after(0, wanted, limit)
    }

    /// As [`Output::wait_for`], but only in lines that came after the mark.
    pub fn wait_after(&self, mark: usize, wanted: &str, limit: Duration) -> Result<String> {
        let deadline = Instant::now() + limit;
        let mut next = mark;
        let mut lines = self.lock();
        loop {
            let from = next.saturating_sub(lines.dropped);
            if let Some(line) = lines.kept.iter().skip(from).find(|line| line.contains(wanted)) {
                return Ok(line.clone());
            }
            next = lines.dropped + lines.kept.len();
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || lines.streams == 0 {
                drop(lines);
                return Err(self.no_line(wanted, limit));
            }
            lines = self
                .shared
                .came
                .wait_timeout(lines, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    fn no_line(&self, wanted: &str, waited: Duration) -> Error {
        Error::NoLine {
            name: self.name.clone(),
            wanted: wanted.to_owned(),
            waited,
            tail: self.tail(),
        }
    }

    /// Every line, once the process has closed its output; that it ended does not mean that all of it was read.
    ///
    /// # Errors
    /// It is still open after `limit`.
    pub fn whole(&self, limit: Duration) -> Result<Vec<String>> {
        let open = |lines: &mut Lines| lines.streams > 0;
        let (lines, waited) = self
            .shared
            .came
            .wait_timeout_while(self.lock(), limit, open)
            .unwrap_or_else(PoisonError::into_inner);
        drop(lines);
        if waited.timed_out() {
            return Err(self.no_line("the end of its output", limit));
        }
        Ok(self.lines())
    }

    /// Every line that is still kept.
    pub fn lines(&self) -> Vec<String> {
        self.lock().kept.iter().cloned().collect()
    }

    /// The last lines, as one text.
    pub fn tail(&self) -> String {
        let lines = self.lock();
        let skipped = lines.kept.len().saturating_sub(TAIL);
        lines
            .kept
            .iter()
            .skip(skipped)
            .map(|line| format!("  {}| {line}\n", self.name))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_whether_it_came_before_or_after_the_call() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let output = Output::new("test");
        output.follow(reader);
        std::io::Write::write_all(&mut writer, b"one\ntwo ready\n").unwrap();
        assert_eq!(
            output.wait_for("ready", Duration::from_secs(10)).unwrap(),
            "two ready"
        );
        let mark = output.mark();
        std::io::Write::write_all(&mut writer, b"three ready\n").unwrap();
        assert_eq!(
            output.wait_after(mark, "ready", Duration::from_secs(10)).unwrap(),
            "three ready"
        );
    }

    #[test]
    fn the_whole_output_is_there_once_it_is_closed() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let output = Output::new("test");
        output.follow(reader);
        std::io::Write::write_all(&mut writer, b"one\n").unwrap();
        assert!(output.whole(Duration::from_millis(1)).is_err());
        std::io::Write::write_all(&mut writer, b"two").unwrap();
        drop(writer);
        assert_eq!(output.whole(Duration::from_secs(10)).unwrap(), ["one", "two"]);
    }

    #[test]
    fn a_closed_output_ends_the_wait_at_once() {
        let (reader, writer) = std::io::pipe().unwrap();
        let output = Output::new("test");
        output.follow(reader);
        drop(writer);
        let error = output.wait_for("never", Duration::from_secs(3600)).unwrap_err();
        assert!(matches!(error, Error::NoLine { .. }), "{error}");
    }
}
