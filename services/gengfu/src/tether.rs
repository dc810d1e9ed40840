//! Starts a server that ends with this process, also where this process is killed and can't end it.
//!
//! The child is first this binary again, which asks the kernel for a SIGTERM at its parent's end and then becomes the
//! server: what must happen between the start of a child and its program can't be said from outside without `unsafe`.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::ExitCode;

use nix::sys::{prctl, signal::Signal};
use nix::unistd::{Pid, getppid};
use tokio::process::Command;

/// What the child is asked, hidden from people.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The process that it ends with.
    parent: i32,
    /// The server.
    program: OsString,
    /// What the server is given.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

/// A server that ends with this process. Start it from the main thread: the kernel means the parent's thread.
pub(crate) fn command(program: &Path) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command
        .arg("tether")
        .arg(std::process::id().to_string())
        .arg(program);
    command
}

/// Becomes the server; returns only if that fails.
pub(crate) fn run(args: Args) -> ExitCode {
    let tied = prctl::set_pdeathsig(Signal::SIGTERM);
    // A parent that ended before that will never send it.
    if getppid() != Pid::from_raw(args.parent) {
        return ExitCode::FAILURE;
    }
    let error = match tied {
        Ok(()) => std::process::Command::new(&args.program).args(args.args).exec(),
        Err(error) => error.into(),
    };
    let program = args.program.display();
    let _ = writeln!(std::io::stderr(), "{program} can't be started: {error}");
    ExitCode::FAILURE
}
