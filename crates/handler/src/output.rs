//! What a handler prints during one attempt: bounded, the start and the end kept.

use std::{
    collections::VecDeque,
    fmt, io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;

/// Bytes kept of an attempt's output where nothing else is configured (`limits.output_bytes`).
pub const OUTPUT_BYTES_DEFAULT: usize = 64 * 1024;

/// Collects stdout, stderr and log lines of one attempt; cheap to clone.
///
/// The first and the last half of the cap are kept; how much was cut between them stands at the cut. It is an
/// `io::Write`, so `writeln!(ctx.output(), …)` works; a write never fails and never blocks.
#[derive(Clone)]
pub struct Output(Arc<Mutex<Kept>>);

struct Kept {
    head: Vec<u8>,
    head_cap: usize,
    tail: VecDeque<u8>,
    tail_cap: usize,
    cut: u64,
    finished: bool,
}

impl Output {
    /// Collects at most `cap` bytes, and the marker where something was cut.
    #[must_use]
    pub fn new(cap: usize) -> Self {
        Self(Arc::new(Mutex::new(Kept {
            head: Vec::new(),
            head_cap: cap / 2,
            tail: VecDeque::new(),
            tail_cap: cap - cap / 2,
            cut: 0,
            finished: false,
        })))
    }

    /// Appends bytes as they are.
    pub fn write(&self, bytes: &[u8]) {
        self.kept().append(bytes);
    }

    /// Appends a line and its line feed.
    pub fn line(&self, text: &str) {
        let mut kept = self.kept();
        kept.append(text.as_bytes());
        kept.append(b"\n");
    }

    /// What was collected. What is written later (by a thread that outlives the run) is dropped.
    #[must_use]
    pub fn finish(&self) -> Bytes {
        let mut kept = self.kept();
        kept.finished = true;
        let head = std::mem::take(&mut kept.head);
        let tail = std::mem::take(&mut kept.tail);
        join(head, &Vec::from(tail), kept.cut)
    }

    // A panic while the lock is held can't leave the buffers in a bad state: every step keeps them whole.
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn append(&mut self, bytes: &[u8]) {
        if self.finished {
            return;
        }
        let room = self.head_cap - self.head.len();
        let (head, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(head);
        let skipped = rest.len().saturating_sub(self.tail_cap);
        let newest = &rest[skipped..];
        let displaced = (self.tail.len() + newest.len()).saturating_sub(self.tail_cap);
        self.tail.drain(..displaced);
        self.tail.extend(newest);
        self.cut += (skipped + displaced) as u64;
    }
}

/// Head, marker and tail; a character that the cut went through goes whole.
fn join(mut head: Vec<u8>, mut tail: &[u8], cut: u64) -> Bytes {
    if cut == 0 {
        head.extend_from_slice(tail);
        return Bytes::from(head);
    }
    let broken_end = head.utf8_chunks().last().map_or(0, |chunk| chunk.invalid().len());
    head.truncate(head.len() - broken_end);
    let broken_start = tail
        .iter()
        .take(3)
        .take_while(|byte| **byte & 0xc0 == 0x80)
        .count();
    tail = &tail[broken_start..];
    let cut = cut + (broken_end + broken_start) as u64;
    head.extend_from_slice(format!("\n… {cut} bytes cut …\n").as_bytes());
    head.extend_from_slice(tail);
    Bytes::from(head)
}

impl Default for Output {
    fn default() -> Self {
        Self::new(OUTPUT_BYTES_DEFAULT)
    }
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Output").finish_non_exhaustive()
    }
}

impl io::Write for &Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Output::write(self, bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn all_is_kept_up_to_the_cap_exactly() {
        let output = Output::new(8);
        output.write(&[0, 0xff, 1]);
        output.clone().line("abcd");
        assert_eq!(&*output.finish(), b"\0\xff\x01abcd\n");
    }

    #[test]
    fn above_the_cap_start_and_end_stay_and_the_cut_is_counted() {
        let output = Output::new(10);
        for digit in 0..100 {
            write!(&output, "{}", digit % 10).unwrap();
        }
        assert_eq!(output.finish(), "01234\n… 90 bytes cut …\n56789");
        let output = Output::new(10);
        output.write(&[b'x'; 1_000]);
        assert_eq!(output.finish(), "xxxxx\n… 990 bytes cut …\nxxxxx");
    }

    #[test]
    fn a_cut_leaves_no_half_character() {
        let output = Output::new(20);
        output.write("夜".repeat(20).as_bytes());
        assert_eq!(output.finish(), "夜夜夜\n… 42 bytes cut …\n夜夜夜");
    }

    #[test]
    fn what_comes_after_the_end_is_dropped() {
        let output = Output::default();
        output.line("before");
        assert_eq!(output.finish(), "before\n");
        output.line("after");
        assert_eq!(output.finish(), "");
    }
}
