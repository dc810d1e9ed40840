//! Rows that a handler gives: lines of JSON, kept where they take no memory.

use std::{
    fmt, io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Takes the lines of a run whose every line of JSON becomes a task; cheap to clone.
///
/// It is an `io::Write`, so `writeln!(lines, …)` works. Like [`crate::Output`] a write never fails: what went wrong is
/// told to the executor when the run is over.
#[derive(Clone)]
pub struct Lines(Arc<Mutex<Kept>>);

struct Kept {
    sink: Box<dyn io::Write + Send>,
    most: u64,
    written: u64,
    broken: Option<LinesError>,
    finished: bool,
}

/// Why lines were not kept.
#[derive(Debug, thiserror::Error)]
pub enum LinesError {
    /// There were too many bytes.
    #[error("the lines have more than {0} bytes")]
    TooLong(u64),
    /// They could not be written down.
    #[error("the lines can't be written down")]
    Sink(#[source] io::Error),
}

impl Lines {
    /// Hands lines on to `sink`, at most so many bytes.
    #[must_use]
    pub fn new(sink: impl io::Write + Send + 'static, most: u64) -> Self {
        Self(Arc::new(Mutex::new(Kept {
            sink: Box::new(sink),
            most,
            written: 0,
            broken: None,
            finished: false,
        })))
    }

    /// Appends bytes as they are; whether more are wanted.
    pub fn write(&self, bytes: &[u8]) -> bool {
        self.kept().append(bytes)
    }

    /// Appends a line and its line feed; whether more are wanted.
    pub fn line(&self, text: &str) -> bool {
        let mut kept = self.kept();
        kept.append(text.as_bytes()) && kept.append(b"\n")
    }

    /// How many bytes were written. What is written later (by a thread that outlives the run) is dropped.
    ///
    /// # Errors
    /// Where not all that was written was kept.
    pub fn finish(&self) -> Result<u64, LinesError> {
        let mut kept = self.kept();
        kept.finished = true;
        if let Some(broken) = kept.broken.take() {
            return Err(broken);
        }
        kept.sink.flush().map_err(LinesError::Sink)?;
        Ok(kept.written)
    }

    // A panic while the lock is held leaves at worst a half line, and the run it belongs to has failed.
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn append(&mut self, bytes: &[u8]) -> bool {
        if self.finished || self.broken.is_some() {
            return false;
        }
        self.written = self.written.saturating_add(bytes.len() as u64);
        if self.written > self.most {
            self.broken = Some(LinesError::TooLong(self.most));
        } else if let Err(error) = self.sink.write_all(bytes) {
            self.broken = Some(LinesError::Sink(error));
        }
        self.broken.is_none()
    }
}

impl fmt::Debug for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines").finish_non_exhaustive()
    }
}

impl io::Write for &Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Lines::write(self, bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    struct Full;

    impl io::Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_go_on_as_they_are_until_the_end() {
        let sink = Shared::default();
        let lines = Lines::new(sink.clone(), 8);
        assert!(lines.line("{}") && lines.clone().write(b"\xff\0"));
        assert_eq!(lines.finish().unwrap(), 5);
        assert!(!lines.line("{}"));
        assert_eq!(*sink.0.lock().unwrap(), b"{}\n\xff\0");
    }

    #[test]
    fn what_was_not_kept_is_told_at_the_end() {
        let lines = Lines::new(io::sink(), 4);
        assert!(lines.line("{}") && !lines.line("{}") && !lines.line(""));
        assert!(matches!(lines.finish(), Err(LinesError::TooLong(4))));
        let full = Lines::new(Full, 4);
        assert!(!full.line("{}"));
        assert!(matches!(full.finish(), Err(LinesError::Sink(_))));
    }
}
