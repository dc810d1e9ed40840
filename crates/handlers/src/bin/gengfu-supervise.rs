//! A supervisor of commands on its own, for tests and for executors whose binary has no `supervise` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    gengfu_handlers::command::supervise_main(std::env::args_os().skip(1))
}
