//! One process of ours: a role, or the whole town with `dev`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use tempfile::TempDir;

use crate::api::Api;
use crate::cli::Cli;
use crate::error::{Result, io};
use crate::output::Output;
use crate::process::{Process, Signal};
use crate::program::gengfu_binary;

/// The line by which a process says that it heeds `GENGFU_FAULT`.
const ARMED: &str = "fault points are armed";

const START_LIMIT: Duration = Duration::from_secs(60);

/// Variables that name programs to start.
const SERVER_PROGRAMS: [&str; 2] = ["GENGFU_NATS_SERVER", "GENGFU_REDIS_SERVER"];

/// The variable of faults.
const FAULT: &str = "GENGFU_FAULT";

/// The line by which a role says where it listens.
const LISTENING: &str = "listening";

/// A running `gengfu` process. Dropping it kills it.
#[derive(Debug)]
pub struct Gengfu {
    process: Process,
    /// Its configuration file lies here.
    _folder: TempDir,
}

/// What a process is started with.
#[derive(Debug)]
pub struct GengfuBuilder {
    role: String,
    program: Option<PathBuf>,
    settings: Vec<String>,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
}

impl GengfuBuilder {
    /// A key of the configuration file and its value in TOML's writing: `set("executor.lease", "\"3s\"")`.
    #[must_use]
    pub fn set(mut self, key: &str, toml: impl std::fmt::Display) -> Self {
        self.settings.retain(|line| line.split(" = ").next() != Some(key));
        self.settings.push(format!("{key} = {toml}"));
        self
    }

    /// As [`GengfuBuilder::set`] for a text, which is quoted here.
    #[must_use]
    pub fn set_text(self, key: &str, text: &str) -> Self {
        self.set(key, format!("{text:?}"))
    }

    /// Another binary that plays this role, without the role's name as its command.
    #[must_use]
    pub fn program(self, path: PathBuf) -> Self {
        Self {
            program: Some(path),
            ..self
        }
    }

    /// An argument of the command line.
    #[must_use]
    pub fn arg(mut self, argument: impl Into<String>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// A variable of its environment.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Where it dies, waits or does nothing, such as `kill:fire.before_script@3`; `runtime::fault_point` has the rules.
    #[must_use]
    pub fn fault(self, faults: &str) -> Self {
        self.env(FAULT, faults)
    }

    /// Starts it; [`Gengfu::listens_at`] tells when it is up.
    ///
    /// # Errors
    /// Where it has faults and does not say that it heeds them: `cargo build -p gengfu` makes such a binary, and
    /// `cargo build -p gengfu -p gengfu-integration-tests --all-targets` makes one that does.
    pub fn start(self) -> Result<Gengfu> {
        let folder = tempfile::Builder::new()
            .prefix("gengfu-role-")
            .tempdir()
            .map_err(io("creating a folder for the configuration"))?;
        let mut command = match &self.program {
            Some(program) => Command::new(program),
            None => {
                let mut command = Command::new(gengfu_binary()?);
                command.arg(&self.role);
                command
            }
        };
        command.args(&self.arguments).current_dir(folder.path());
        if !self.settings.is_empty() {
            let file = folder.path().join("gengfu.toml");
            std::fs::write(&file, self.settings.join("\n")).map_err(io("writing the configuration"))?;
            command.arg("--config").arg(file);
        }
        // Only what the test sets: the machine's own settings must not change what is tested.
        for (name, _) in std::env::vars_os() {
            let set_here = name
                .to_str()
                .is_some_and(|name| name.starts_with("GENGFU_") && !SERVER_PROGRAMS.contains(&name));
            if set_here {
                command.env_remove(&name);
            }
        }
        let faulty = self.environment.iter().any(|(name, _)| name == FAULT);
        command.envs(self.environment);
        let process = Process::spawn(&self.role, &mut command)?;
        if faulty {
            process.output().wait_for(ARMED, START_LIMIT)?;
        }
        Ok(Gengfu {
            process,
            _folder: folder,
        })
    }
}

impl Gengfu {
    /// A role against the given servers, listening on a free port of its own.
    pub fn role(role: &str, redis_url: &str, nats_url: &str) -> GengfuBuilder {
        Self::bare(role)
            .set_text("listen", "127.0.0.1:0")
            .set_text("redis.url", redis_url)
            .set_text("nats.url", nats_url)
    }

    /// Any command that stays, for example `dev`, without a configuration file.
    pub fn bare(command: &str) -> GengfuBuilder {
        GengfuBuilder {
            role: command.to_owned(),
            program: None,
            settings: Vec::new(),
            arguments: Vec::new(),
            environment: Vec::new(),
        }
    }

    /// The address on which it listens, as it logged it; waits up to 60 s for that.
    pub fn listens_at(&self) -> Result<SocketAddr> {
        let line = self.process.output().wait_for(LISTENING, START_LIMIT)?;
        address_in(&line).ok_or_else(|| crate::Error::NoLine {
            name: "gengfu".to_owned(),
            wanted: "the address in the line that says it listens".to_owned(),
            waited: Duration::ZERO,
            tail: line,
        })
    }

    /// Its address for clients, `http://127.0.0.1:PORT`.
    pub fn url(&self) -> Result<String> {
        Ok(format!("http://{}", self.listens_at()?))
    }

    /// A client of its HTTP API.
    pub fn api(&self) -> Result<Api> {
        Ok(Api::new(&self.url()?))
    }

    /// The operator's command line against it.
    pub fn cli(&self) -> Result<Cli> {
        Cli::new(&self.url()?)
    }

    /// Ends it at once (SIGKILL).
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Stops it where it is (SIGSTOP).
    pub fn pause(&self) {
        self.process.signal(Signal::SIGSTOP);
    }

    /// Lets it go on after [`Gengfu::pause`].
    pub fn resume(&self) {
        self.process.signal(Signal::SIGCONT);
    }

    /// Lets it go on from a fault point that holds (SIGUSR1).
    pub fn go_on(&self) {
        self.process.signal(Signal::SIGUSR1);
    }

    /// Asks it to drain and end (SIGTERM).
    ///
    /// # Errors
    /// It still runs after `limit`.
    pub fn terminate(&mut self, limit: Duration) -> Result<ExitStatus> {
        self.process.terminate(limit)
    }

    /// Waits until it ends by itself.
    pub fn wait(&mut self, limit: Duration) -> Result<ExitStatus> {
        self.process.wait(limit)
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Whether it has not ended yet.
    pub fn is_running(&self) -> bool {
        self.process.is_running()
    }

    /// What it printed: its log, and for `dev` the URLs.
    pub fn output(&self) -> &Output {
        self.process.output()
    }
}

/// The first `IP:PORT` of a log line.
fn address_in(line: &str) -> Option<SocketAddr> {
    line.split(|c: char| !(c.is_ascii_hexdigit() || ".:[]".contains(c)))
        .find_map(|word| word.trim_matches(':').parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_found_in_both_log_formats() {
        let expected: SocketAddr = "127.0.0.1:40123".parse().unwrap();
        let json = r#"{"at":"2026-11-30T01:02:03Z","level":"info","message":"listening","address":"127.0.0.1:40123"}"#;
        assert_eq!(address_in(json), Some(expected));
        assert_eq!(
            address_in("2026-11-30T01:02:03Z INFO listening address=127.0.0.1:40123"),
            Some(expected)
        );
        assert_eq!(address_in("2026-11-30T01:02:03Z INFO ready"), None);
    }
}
