//! Takes log lines from every thread and writes them from one, so that no task waits for a slow reader of the log.
//! Where the reader is too slow lines are dropped, and the log says how many.

use std::{
    io::Write,
    mem,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use crate::error::Error;

/// Bytes that may wait to be written.
const WAITING_BYTES: usize = 4 * 1024 * 1024;
/// Bytes that are written at once, whatever else may come.
const MANY_BYTES: usize = WAITING_BYTES / 8;
/// How long the writer lets lines gather: one write for many lines costs a tenth of a write for each.
const GATHER: Duration = Duration::from_millis(5);
/// How long a flush waits for a reader that does not read.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// A queue of lines with a thread that writes them. Clones share it; the thread ends with the last of them.
#[derive(Debug, Clone)]
pub(crate) struct LineWriter(Arc<Owner>);

#[derive(Debug)]
struct Owner(Arc<Shared>);

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.lock().closed = true;
        self.0.changed.notify_one();
    }
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    written: Condvar,
    dropped_ever: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    waiting: Vec<u8>,
    dropped: u64,
    writing: bool,
    hurry: bool,
    closed: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LineWriter {
    /// Starts the thread. `lost_line` gives the line that tells how many were dropped.
    pub(crate) fn start(
        mut sink: impl Write + Send + 'static,
        lost_line: impl Fn(u64) -> Vec<u8> + Send + 'static,
    ) -> Result<Self, Error> {
        let shared = Arc::new(Shared::default());
        let own = Arc::clone(&shared);
        thread::Builder::new()
            .name("log".into())
            .spawn(move || write_all(&own, &mut sink, &lost_line))
            .map_err(Error::Thread)?;
        Ok(Self(Arc::new(Owner(shared))))
    }

    /// Queues a line that ends with a line feed, or drops and counts it.
    pub(crate) fn push(&self, line: &[u8]) {
        let mut state = self.0.0.lock();
        if state.waiting.len() + line.len() > WAITING_BYTES {
            state.dropped += 1;
            self.0.0.dropped_ever.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let before = state.waiting.len();
        state.waiting.extend_from_slice(line);
        let wake = before == 0 || (before < MANY_BYTES && state.waiting.len() >= MANY_BYTES);
        drop(state);
        if wake {
            self.0.0.changed.notify_one();
        }
    }

    /// Lines dropped so far.
    pub(crate) fn dropped(&self) -> u64 {
        self.0.0.dropped_ever.load(Ordering::Relaxed)
    }

    /// Waits until what was queued is written, or until the reader proves too slow.
    pub(crate) fn flush(&self) {
        let until = Instant::now() + FLUSH_TIMEOUT;
        let mut state = self.0.0.lock();
        state.hurry = true;
        self.0.0.changed.notify_one();
        while !state.waiting.is_empty() || state.writing {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = self
                .0
                .0
                .written
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }
}

fn write_all(shared: &Shared, sink: &mut impl Write, lost_line: &impl Fn(u64) -> Vec<u8>) {
    let mut batch = Vec::new();
    while take(shared, &mut batch, lost_line) {
        // Nobody is left to be told of a log that can't be written.
        let _ = sink.write_all(&batch).and_then(|()| sink.flush());
        batch.clear();
        shared.lock().writing = false;
        shared.written.notify_all();
    }
}

/// Waits for lines and takes all of them; false when the log is closed and empty.
fn take(shared: &Shared, batch: &mut Vec<u8>, lost_line: &impl Fn(u64) -> Vec<u8>) -> bool {
    let mut state = shared.lock();
    while state.waiting.is_empty() && !state.closed {
        state.hurry = false;
        state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
    if state.waiting.is_empty() {
        return false;
    }
    if !state.hurry && !state.closed {
        let gathered = shared.changed.wait_timeout_while(state, GATHER, |state| {
            !state.hurry && state.waiting.len() < MANY_BYTES
        });
        state = gathered.unwrap_or_else(PoisonError::into_inner).0;
    }
    mem::swap(&mut state.waiting, batch);
    state.writing = true;
    let dropped = mem::take(&mut state.dropped);
    drop(state);
    if dropped > 0 {
        batch.extend_from_slice(&lost_line(dropped));
    }
    true
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    struct Gate {
        open: mpsc::Receiver<()>,
        out: Arc<Mutex<Vec<u8>>>,
    }

    impl Write for Gate {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let _ = self.open.recv();
            self.out.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_hangs_stops_nobody_and_is_told_of_the_loss() {
        let (open, gate) = mpsc::sync_channel(1);
        let out = Arc::new(Mutex::new(Vec::new()));
        let sink = Gate {
            open: gate,
            out: Arc::clone(&out),
        };
        let writer = LineWriter::start(sink, |n| format!("lost {n}\n").into_bytes()).unwrap();
        let line = [vec![b'x'; 1_023], vec![b'\n']].concat();
        let pushed = 3 * WAITING_BYTES / line.len();
        for _ in 0..pushed {
            writer.push(&line);
        }
        let dropped = writer.dropped();
        assert!(dropped > 0, "nothing is bounded");
        drop(open);
        writer.flush();
        let text = String::from_utf8(out.lock().unwrap().clone()).unwrap();
        assert_eq!(
            text.lines().filter(|line| line.starts_with('x')).count() as u64,
            pushed as u64 - dropped
        );
        let told = text
            .lines()
            .filter_map(|line| line.strip_prefix("lost ")?.parse::<u64>().ok());
        assert_eq!(told.sum::<u64>(), dropped);
    }

    #[test]
    fn lines_of_many_threads_stay_whole() {
        let out = Arc::new(Mutex::new(Vec::new()));
        let (open, gate) = mpsc::sync_channel(1);
        drop(open);
        let writer = LineWriter::start(
            Gate {
                open: gate,
                out: Arc::clone(&out),
            },
            |_| vec![],
        )
        .unwrap();
        thread::scope(|scope| {
            for thread in 0..4 {
                let writer = writer.clone();
                scope.spawn(move || {
                    (0..500).for_each(|nth| writer.push(format!("{thread} {nth}\n").as_bytes()));
                });
            }
        });
        writer.flush();
        let text = String::from_utf8(out.lock().unwrap().clone()).unwrap();
        for thread in 0..4 {
            let own = text
                .lines()
                .filter_map(|line| line.strip_prefix(&format!("{thread} ")));
            assert!(own.eq((0..500).map(|nth| nth.to_string())));
        }
        assert_eq!((text.lines().count(), writer.dropped()), (2_000, 0));
    }
}
