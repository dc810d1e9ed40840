//! What a program prints: standard output is the result, both go to the attempt's output.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};
use handler::{Lines, Output, TaskContext};
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::{ChildStderr, ChildStdout},
};

/// Bytes of standard error that become part of the error.
const LAST_ERRORS_BYTES: usize = 4 * 1024;
const CHUNK_BYTES: usize = 8 * 1024;

/// The two pipes of a program that runs.
pub(super) struct Printed {
    pipes: (ChildStdout, ChildStderr),
    stdout: Stdout,
    stderr: Stderr,
    output: Output,
}

struct Stdout {
    /// Where it goes instead of the result, if the run gives rows.
    lines: Option<Lines>,
    result: BytesMut,
    result_bytes: usize,
    cut: bool,
}

struct Stderr {
    last: VecDeque<u8>,
}

/// What is left of what it printed.
pub(super) struct Captured {
    pub(super) result: Bytes,
    pub(super) last_errors: Vec<u8>,
}

impl Printed {
    pub(super) fn new(pipes: (ChildStdout, ChildStderr), ctx: &TaskContext, result_bytes: usize) -> Self {
        Self {
            pipes,
            stdout: Stdout {
                lines: ctx.lines().cloned(),
                result: BytesMut::new(),
                result_bytes,
                cut: false,
            },
            stderr: Stderr {
                last: VecDeque::new(),
            },
            output: ctx.output().clone(),
        }
    }

    /// Reads until both pipes are closed at their other ends.
    pub(super) async fn read(&mut self) {
        let (stdout, stderr, output) = (&mut self.stdout, &mut self.stderr, &self.output);
        tokio::join!(
            drain(&mut self.pipes.0, |chunk| {
                stdout.keep(chunk);
                output.write(chunk);
            }),
            drain(&mut self.pipes.1, |chunk| {
                stderr.keep(chunk);
                output.write(chunk);
            }),
        );
    }

    /// What was read.
    pub(super) fn finish(self) -> Captured {
        if self.stdout.cut {
            let most = self.stdout.result_bytes;
            self.output.line(&format!(
                "standard output is longer than {most} bytes; the result is cut there"
            ));
        }
        Captured {
            result: self.stdout.result.freeze(),
            last_errors: self.stderr.last.into(),
        }
    }
}

impl Stdout {
    fn keep(&mut self, chunk: &[u8]) {
        if let Some(lines) = &self.lines {
            lines.write(chunk);
            return;
        }
        let room = self.result_bytes - self.result.len();
        self.result.extend_from_slice(&chunk[..room.min(chunk.len())]);
        self.cut |= chunk.len() > room;
    }
}

impl Stderr {
    fn keep(&mut self, chunk: &[u8]) {
        let chunk = &chunk[chunk.len().saturating_sub(LAST_ERRORS_BYTES)..];
        let displaced = (self.last.len() + chunk.len()).saturating_sub(LAST_ERRORS_BYTES);
        self.last.drain(..displaced);
        self.last.extend(chunk);
    }
}

/// A pipe that can't be read counts as closed.
async fn drain(pipe: &mut (impl AsyncRead + Unpin), mut keep: impl FnMut(&[u8])) {
    let mut chunk = [0; CHUNK_BYTES];
    while let Ok(length @ 1..) = pipe.read(&mut chunk).await {
        keep(&chunk[..length]);
    }
}
