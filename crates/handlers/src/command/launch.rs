//! Starts a supervisor.

use std::{
    ffi::OsString,
    io,
    os::{fd::OwnedFd, unix::net::UnixStream as StdUnixStream},
    path::PathBuf,
    process::Stdio,
};

use handler::{HandlerError, TaskContext};
use tokio::net::UnixStream;

use super::{capture::Printed, link::Link};

/// How a supervisor is started: a program whose `main` calls [`supervise_main`](super::supervise_main).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Supervisor {
    /// Path of the program.
    pub program: PathBuf,
    /// Arguments that make it a supervisor.
    pub args: Vec<OsString>,
}

impl Default for Supervisor {
    /// This executable, also when its file was replaced since it started, with the argument `supervise`.
    fn default() -> Self {
        Self {
            program: "/proc/self/exe".into(),
            args: vec!["supervise".into()],
        }
    }
}

pub(super) struct Launched {
    pub(super) link: Link,
    pub(super) printed: Printed,
    /// The supervisor, under which everything runs.
    pub(super) pid: Option<u32>,
}

/// Starts a supervisor that waits for its program.
pub(super) fn launch(
    supervisor: &Supervisor,
    ctx: &TaskContext,
    result_bytes: usize,
) -> Result<Launched, HandlerError> {
    let start = || -> io::Result<Launched> {
        let (ours, theirs) = StdUnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let mut child = tokio::process::Command::new(&supervisor.program)
            .args(&supervisor.args)
            .env_clear()
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A ctrl-c at the executor's terminal is for the executor, which then ends its commands.
            .process_group(0)
            .spawn()?;
        let missing = || io::Error::other("a pipe of the supervisor is missing");
        let stdout = child.stdout.take().ok_or_else(missing)?;
        let stderr = child.stderr.take().ok_or_else(missing)?;
        let pid = child.id();
        // Tokio reaps the supervisor when it ends; it must never be killed before its program.
        drop(child);
        Ok(Launched {
            link: Link::new(UnixStream::from_std(ours)?),
            printed: Printed::new((stdout, stderr), ctx, result_bytes),
            pid,
        })
    };
    start().map_err(|error| {
        HandlerError::transient("supervisor_start", error).context("starting the supervisor")
    })
}
