//! The supervisor: starts one program, and sees to it that nothing of it is left when it ends, when it is told to
//! end it, or when the executor is gone.
//!
//! One thread and one loop, so that there is no race between what happens: the program's end (by SIGCHLD), an
//! order or the end of the socket, room in the program's standard input, and the end of the grace.

use std::{
    ffi::OsString,
    io::{self, ErrorKind, Read, Write},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::{net::UnixStream, process::CommandExt},
    },
    process::{Child, ChildStdin, Command, ExitCode, Stdio},
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    fcntl::{FcntlArg, OFlag, fcntl},
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::{
        prctl::set_child_subreaper,
        signal::{SigSet, Signal, kill, killpg},
        signalfd::{SfdFlags, SignalFd},
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::Pid,
};

use super::{
    descendants,
    message::{FRAME_BYTES, Order, Program, Report},
};

/// Between two rounds of KILL, while what is left still makes new processes.
const KILL_ROUND: Duration = Duration::from_millis(20);

/// The `main` of a supervisor. The executor starts it, without arguments and with a socket as standard input; the
/// binary calls this before it makes a runtime or a thread. It returns when the program and all that it started are
/// gone.
#[must_use]
pub fn supervise_main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let supervised = match args.into_iter().next() {
        Some(_) => Err(io::Error::other("there are no arguments")),
        None => supervise(),
    };
    match supervised {
        Ok(()) => ExitCode::SUCCESS,
        // Nobody reads this but a person who started it by hand: the executor sees the socket close.
        Err(error) => {
            let _closed = writeln!(
                io::stderr(),
                "supervise: {error}; only an executor can start this"
            );
            ExitCode::FAILURE
        }
    }
}

fn supervise() -> io::Result<()> {
    let mut socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let program = read_frame(&mut socket)?;
    let program = serde_json::from_slice::<Program>(&program).map_err(io::Error::other)?;
    let payload = read_frame(&mut socket)?;
    set_child_subreaper(true)?;
    let mut child = match start(&program) {
        Ok(child) => child,
        Err(report) => return tell(&mut socket, &report),
    };
    // Only now, because the program would inherit the mask.
    let mut mask = SigSet::empty();
    for signal in [Signal::SIGCHLD, Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        mask.add(signal);
    }
    mask.thread_block()?;
    let signals = SignalFd::with_flags(&mask, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?;
    let leader = Pid::from_raw(i32::try_from(child.id()).map_err(io::Error::other)?);
    let mut watch = Watch {
        leader,
        end: None,
        ending: Ending::No,
        lease: program.lease_ms.map(ends_in),
        orders: Vec::new(),
        grace: Duration::from_millis(program.grace_ms),
        feed: child.stdin.take().and_then(|pipe| Feed::new(pipe, payload).ok()),
        connected: true,
    };
    // If the executor is gone already, the watch finds the closed socket.
    let _gone = tell(
        &mut socket,
        &Report::Started {
            group: leader.as_raw(),
        },
    );
    let report = watch.until_all_ended(&mut socket, &signals)?;
    if watch.connected {
        tell(&mut socket, &report)
    } else {
        Ok(())
    }
}

fn ends_in(lease_ms: u32) -> Instant {
    Instant::now() + Duration::from_millis(lease_ms.into())
}

fn read_frame(socket: &mut UnixStream) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    socket.read_exact(&mut length)?;
    let length = u32::from_be_bytes(length);
    if length > FRAME_BYTES {
        return Err(io::Error::other("a frame is too long"));
    }
    let mut frame = vec![0; usize::try_from(length).map_err(io::Error::other)?];
    socket.read_exact(&mut frame)?;
    Ok(frame)
}

fn tell(socket: &mut UnixStream, report: &Report) -> io::Result<()> {
    let body = serde_json::to_vec(report).map_err(io::Error::other)?;
    let length = u32::try_from(body.len()).map_err(io::Error::other)?;
    socket.write_all(&[&length.to_be_bytes(), &*body].concat())
}

/// Starts the program as the leader of a group of its own; standard output and error are the supervisor's.
fn start(program: &Program) -> Result<Child, Report> {
    if let Some(cwd) = program.cwd.as_ref().filter(|cwd| !cwd.is_dir()) {
        let message = format!("cwd {} is no folder on this executor", cwd.display());
        return Err(Report::NotStarted {
            code: "cwd_not_found".into(),
            transient: false,
            message,
        });
    }
    let mut command = Command::new(&program.path);
    command
        .args(&program.args)
        .env_clear()
        .envs(&program.env)
        .stdin(Stdio::piped())
        .process_group(0);
    if let Some(cwd) = &program.cwd {
        command.current_dir(cwd);
    }
    command.spawn().map_err(|error| {
        let (code, transient) = match error.kind() {
            ErrorKind::NotFound => ("program_not_found", false),
            ErrorKind::PermissionDenied => ("program_not_executable", false),
            _ if error.raw_os_error() == Some(Errno::ENOEXEC as i32) => ("program_not_executable", false),
            ErrorKind::ArgumentListTooLong => ("arguments_too_long", false),
            _ => ("spawn", true),
        };
        let message = format!("could not be started: {error}");
        Report::NotStarted {
            code: code.into(),
            transient,
            message,
        }
    })
}

/// The payload on its way into the program's standard input.
struct Feed {
    pipe: ChildStdin,
    payload: Vec<u8>,
    written: usize,
}

impl Feed {
    fn new(pipe: ChildStdin, payload: Vec<u8>) -> io::Result<Self> {
        fcntl(&pipe, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        Ok(Self {
            pipe,
            payload,
            written: 0,
        })
    }

    /// Writes what there is room for; false when all is written, or nobody wants it.
    fn push(&mut self) -> bool {
        while self.written < self.payload.len() {
            match self.pipe.write(&self.payload[self.written..]) {
                Ok(count) => self.written += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
        }
        false
    }
}

/// How far the end of the program was asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    No,
    /// TERM was sent; KILL follows at this instant.
    Grace(Instant),
    Kill,
}

struct Watch {
    leader: Pid,
    /// How the program itself ended.
    end: Option<Report>,
    ending: Ending,
    /// When the lease of the run ends, unless the executor says otherwise before.
    lease: Option<Instant>,
    /// What was read of orders.
    orders: Vec<u8>,
    grace: Duration,
    feed: Option<Feed>,
    /// Whether the executor is still there.
    connected: bool,
}

impl Watch {
    /// Waits until the program and all that it started are gone; the report is about the program.
    fn until_all_ended(&mut self, socket: &mut UnixStream, signals: &SignalFd) -> io::Result<Report> {
        loop {
            while let Ok(Some(_)) = signals.read_signal() {}
            let all_gone = self.reap();
            if let (true, Some(end)) = (all_gone, &self.end) {
                return Ok(end.clone());
            }
            // What outlives the program is not wanted: nobody would ever wait for it.
            if self.end.is_some() {
                self.term();
            }
            self.kill_if_due();
            if self.feed.as_mut().is_some_and(|feed| !feed.push()) {
                self.feed = None;
            }
            if self.wait(socket, signals)? {
                self.obey(socket);
            }
        }
    }

    /// Takes note of every process that ended; true when there is none left.
    fn reap(&mut self) -> bool {
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::Exited(pid, code)) if pid == self.leader => {
                    self.end = Some(Report::Exited {
                        code: u8::try_from(code).unwrap_or(u8::MAX),
                    });
                }
                Ok(WaitStatus::Signaled(pid, signal, _)) if pid == self.leader => {
                    self.end = Some(Report::Signaled {
                        signal: signal as i32,
                    });
                }
                Ok(WaitStatus::StillAlive) => return false,
                Ok(_) | Err(Errno::EINTR) => {}
                // A signal without a name (a real-time one) ended one of them, and the call doesn't say which.
                Err(Errno::EINVAL) if kill(self.leader, None) == Err(Errno::ESRCH) => {
                    self.end.get_or_insert(Report::Signaled { signal: 0 });
                }
                Err(Errno::EINVAL) => {}
                // No child is left. A leader of which nothing was heard ended by such a signal.
                Err(_) => {
                    self.end.get_or_insert(Report::Signaled { signal: 0 });
                    return true;
                }
            }
        }
    }

    fn term(&mut self) {
        if self.ending == Ending::No {
            self.ending = Ending::Grace(Instant::now() + self.grace);
            self.signal(Signal::SIGTERM);
        }
    }

    fn kill_if_due(&mut self) {
        if let Ending::Grace(until) = self.ending
            && until <= Instant::now()
        {
            self.ending = Ending::Kill;
        }
        // The executor is stopped or cut off: another one may begin the next attempt.
        if self.lease.is_some_and(|lease| lease <= Instant::now()) {
            self.ending = Ending::Kill;
        }
        if self.ending == Ending::Kill {
            self.signal(Signal::SIGKILL);
        }
    }

    /// To the group at once, so that nobody forks away in between; then to those that left the group.
    fn signal(&self, signal: Signal) {
        // Once the leader is reaped, its number may belong to a stranger's group.
        if self.end.is_none() {
            let _gone = killpg(self.leader, signal);
        }
        descendants::signal_all(signal);
    }

    /// Waits for anything to happen; true if the socket has something to say.
    fn wait(&self, socket: &UnixStream, signals: &SignalFd) -> io::Result<bool> {
        let mut fds = vec![PollFd::new(signals.as_fd(), PollFlags::POLLIN)];
        let pipe: Option<BorrowedFd<'_>> = self.feed.as_ref().map(|feed| feed.pipe.as_fd());
        fds.extend(pipe.map(|pipe| PollFd::new(pipe, PollFlags::POLLOUT)));
        if self.connected {
            fds.push(PollFd::new(socket.as_fd(), PollFlags::POLLIN));
        }
        let until = |at: Instant| at.saturating_duration_since(Instant::now()) + Duration::from_millis(1);
        let wait = match self.ending {
            Ending::No => self.lease.map(until),
            Ending::Grace(end) => Some(until(self.lease.map_or(end, |lease| lease.min(end)))),
            Ending::Kill => Some(KILL_ROUND),
        };
        let timeout = wait.map_or(PollTimeout::NONE, |wait| {
            PollTimeout::try_from(wait).unwrap_or(PollTimeout::MAX)
        });
        match poll(&mut fds, timeout) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(self.connected && fds.last().and_then(PollFd::any).unwrap_or(false))
    }

    /// Reads the orders that came. A closed socket is the executor's death, or a run that was dropped.
    fn obey(&mut self, socket: &mut UnixStream) {
        let mut orders = [0; 16];
        let count = match socket.read(&mut orders) {
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::Interrupted => return,
            Err(_) => 0,
        };
        if count == 0 {
            self.connected = false;
            self.ending = Ending::Kill;
        }
        self.orders.extend(&orders[..count]);
        while let Some(order) = Order::take(&mut self.orders) {
            match order {
                Order::End => self.term(),
                Order::Kill => self.ending = Ending::Kill,
                Order::Renew(ms) => self.lease = Some(ends_in(ms)),
            }
        }
    }
}
