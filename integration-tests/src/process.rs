//! One child process: its output followed, signals by pid, and certainly gone when dropped.

use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;

use crate::error::{Error, Result, io};
use crate::output::Output;

pub use nix::sys::signal::Signal;

/// A running child. Dropping it kills and reaps it; if the test is failing, its last lines are printed.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    output: Output,
    exited: Arc<(Mutex<bool>, Condvar)>,
}

impl Process {
    /// Starts a command with no input; `name` stands before its lines.
    pub fn spawn(name: &str, command: &mut Command) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(io(format!("starting {name}")))?;
        let output = Output::new(name);
        if let Some(stdout) = child.stdout.take() {
            output.follow(stdout);
        }
        if let Some(stderr) = child.stderr.take() {
            output.follow(stderr);
        }
        let exited = Arc::default();
        announce_exit(pid_of(&child), Arc::clone(&exited));
        Ok(Self {
            name: name.to_owned(),
            child,
            output,
            exited,
        })
    }

    /// The process id; it is not reused before this is dropped or waited for.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it printed so far.
    pub fn output(&self) -> &Output {
        &self.output
    }

    /// Sends a signal by pid, and waits until a SIGSTOP has taken hold. A process that has ended already is no error.
    pub fn signal(&self, signal: Signal) {
        if let Some(pid) = pid_of(&self.child).filter(|_| self.is_running()) {
            // The child is not reaped while `self.child` was not waited for, so the pid is still its own.
            let _ = kill(pid, signal);
            if signal == Signal::SIGSTOP {
                stopped(pid);
            }
        }
    }

    /// Whether it has not ended yet.
    pub fn is_running(&self) -> bool {
        !*self.exited.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until it ends by itself.
    ///
    /// # Errors
    /// It still runs after `limit`.
    pub fn wait(&mut self, limit: Duration) -> Result<ExitStatus> {
        let (flag, ended) = &*self.exited;
        let waiting = flag.lock().unwrap_or_else(PoisonError::into_inner);
        let (done, _) = ended
            .wait_timeout_while(waiting, limit, |done| !*done)
            .unwrap_or_else(PoisonError::into_inner);
        if !*done {
            return Err(Error::StillRunning {
                name: self.name.clone(),
                waited: limit,
            });
        }
        drop(done);
        self.child.wait().map_err(io(format!("reaping {}", self.name)))
    }

    /// Asks it to end (SIGTERM), and waits for that.
    ///
    /// # Errors
    /// It still runs after `limit`.
    pub fn terminate(&mut self, limit: Duration) -> Result<ExitStatus> {
        self.signal(Signal::SIGTERM);
        self.wait(limit)
    }

    /// Ends it at once (SIGKILL), and reaps it. Doing so twice is fine.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        // Before it is reaped: from then on its pid may be somebody else's.
        mark_exited(&self.exited);
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            eprintln!("--- last lines of {} ---\n{}", self.name, self.output.tail());
        }
    }
}

/// Stops a child of this process where it is (SIGSTOP); from then on none of its threads does anything.
pub fn freeze(child: &Child) {
    if let Some(pid) = pid_of(child) {
        let _ = kill(pid, Signal::SIGSTOP);
        stopped(pid);
    }
}

/// The signal reaches one thread after the other; the last one may still answer something.
fn stopped(pid: Pid) {
    let stopped_or_ended = WaitPidFlag::WSTOPPED | WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
    while let Err(Errno::EINTR) = waitid(Id::Pid(pid), stopped_or_ended) {}
}

fn pid_of(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().map(Pid::from_raw)
}

/// Notices the end without reaping, so that the pid stays the child's own until its owner reaps it.
fn announce_exit(pid: Option<Pid>, exited: Arc<(Mutex<bool>, Condvar)>) {
    std::thread::spawn(move || {
        if let Some(pid) = pid {
            while let Err(Errno::EINTR) = waitid(Id::Pid(pid), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT) {}
        }
        mark_exited(&exited);
    });
}

fn mark_exited((flag, ended): &(Mutex<bool>, Condvar)) {
    *flag.lock().unwrap_or_else(PoisonError::into_inner) = true;
    ended.notify_all();
}
