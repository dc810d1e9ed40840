//! The gengfu binary: every role, the operator's commands, and `dev`, which is all of it on a laptop.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod batch;
mod cli;
mod client;
mod commands;
mod data_lock;
mod dev;
mod import;
mod roles;
mod servers;
mod simulation;
mod tether;
mod usage;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::roles::Role;

/// The night watchman of batch tasks.
#[derive(Parser)]
#[command(name = "gengfu", version, about, propagate_version = true)]
struct Args {
    #[command(flatten)]
    global: client::Global,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs all of it in one process, with a nats-server and a redis-server of its own.
    Dev(dev::Args),
    /// Releases due tasks, reclaims expired leases, sweeps.
    Scheduler(role::Args),
    /// Admits submissions from NATS and moves ready tasks into JetStream.
    Dispatcher(role::Args),
    /// Claims tasks of one pool and runs their handlers.
    Executor(role::Args),
    /// Reads every transition and keeps statistics.
    Recorder(role::Args),
    /// Serves the HTTP API.
    Gateway(role::Args),
    #[command(flatten)]
    Client(cli::ClientCommand),
    /// Watches over one command of an executor; started by executors alone.
    #[command(hide = true, disable_help_flag = true)]
    Supervise {
        /// What the executor says.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<std::ffi::OsString>,
    },
    /// Becomes a server that ends with its parent; started by `dev` alone.
    #[command(hide = true)]
    Tether(tether::Args),
}

fn main() -> ExitCode {
    // Whatever the process does with TLS uses one provider of cryptography.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let args = Args::parse();
    match args.command {
        Command::Client(command) => cli::run(command, &args.global),
        Command::Dev(args) => dev::run(args),
        Command::Scheduler(args) => roles::run(Role::Scheduler, &args),
        Command::Dispatcher(args) => roles::run(Role::Dispatcher, &args),
        Command::Executor(args) => roles::run(Role::Executor, &args),
        Command::Recorder(args) => roles::run(Role::Recorder, &args),
        Command::Gateway(args) => roles::gateway(&args),
        Command::Supervise { args } => handlers::command::supervise_main(args),
        Command::Tether(args) => tether::run(args),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn every_command_can_be_parsed() {
        Args::command().debug_assert();
    }
}
