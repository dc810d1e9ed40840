//! A Redis or a Valkey server that keeps an append-only file, synced every second as in production.

use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use crate::error::{Error, Result, io};
use crate::nats::remove_if_there;
use crate::output::Output;
use crate::port::Port;
use crate::process::{Process, Signal};
use crate::program::find;
use crate::resp::Resp;

const START_LIMIT: Duration = Duration::from_secs(60);
const STOP_LIMIT: Duration = Duration::from_secs(60);

/// A running server that speaks Redis, alone on its port and data.
#[derive(Debug)]
pub struct RedisServer {
    program: PathBuf,
    process: Option<Process>,
    port: Port,
    folder: TempDir,
    options: Vec<(String, String)>,
}

impl RedisServer {
    /// Starts `redis-server` on a free port with an empty data folder.
    ///
    /// # Errors
    /// No program, or it does not become ready within 60 s.
    pub fn start_new() -> Result<Self> {
        Self::start_with(&[])
    }

    /// As [`RedisServer::start_new`], with directives of redis.conf, for example `("maxmemory", "20mb")`.
    pub fn start_with(options: &[(&str, &str)]) -> Result<Self> {
        Self::start_program(find("redis-server", "GENGFU_REDIS_SERVER")?, options)
    }

    pub(crate) fn start_program(program: PathBuf, options: &[(&str, &str)]) -> Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("gengfu-redis-")
            .tempdir()
            .map_err(io("creating a data folder for redis-server"))?;
        let options = options
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect();
        let mut server = Self {
            program,
            process: None,
            port: Port::reserve()?,
            folder,
            options,
        };
        server.start()?;
        Ok(server)
    }

    /// Starts it again on the same port and data, and waits until these are loaded; nothing happens if it runs.
    pub fn start(&mut self) -> Result<()> {
        if self.process.is_some() {
            return Ok(());
        }
        std::fs::create_dir_all(self.data()).map_err(io("creating the data folder of redis-server"))?;
        // Ignores the signal of a file that may not grow, so that it gets an error instead, as from a full disk.
        let mut command = Command::new("sh");
        command.args(["-c", r#"trap "" XFSZ; exec "$0" "$@""#]);
        command
            .arg(&self.program)
            .args(["--bind", "127.0.0.1", "--port"])
            .arg(self.port.number().to_string());
        command.arg("--dir").arg(self.data());
        command.args(["--appendonly", "yes", "--appendfsync", "everysec", "--save", ""]);
        for (key, value) in &self.options {
            command.arg(format!("--{key}")).arg(value);
        }
        let process = Process::spawn("redis-server", &mut command)?;
        process
            .output()
            .wait_for("Ready to accept connections", START_LIMIT)?;
        self.process = Some(process);
        Ok(())
    }

    /// Ends it in order (SIGTERM), with everything on disk; nothing happens if it does not run.
    pub fn stop(&mut self) -> Result<()> {
        match self.process.take() {
            Some(mut process) => process.terminate(STOP_LIMIT).map(drop),
            None => Ok(()),
        }
    }

    /// Ends it at once (SIGKILL); what the system had not yet been given is lost.
    pub fn kill(&mut self) {
        self.process = None;
    }

    /// Stops it where it is (SIGSTOP): connections stay open, nothing answers.
    pub fn pause(&self) {
        self.signal(Signal::SIGSTOP);
    }

    /// From now on none of its files can grow, as on a full disk.
    ///
    /// # Errors
    /// It does not run, or the system has no `prlimit`.
    pub fn fill_disk(&self) -> Result<()> {
        self.limit_files("1")
    }

    /// Lets them grow again.
    pub fn free_disk(&self) -> Result<()> {
        self.limit_files("unlimited")
    }

    fn limit_files(&self, bytes: &str) -> Result<()> {
        let pid = self.pid().unwrap_or_default();
        let mut prlimit = Command::new("prlimit");
        prlimit
            .arg(format!("--pid={pid}"))
            .arg(format!("--fsize={bytes}:unlimited"));
        let status = Process::spawn("prlimit", &mut prlimit)?.wait(STOP_LIMIT)?;
        if status.success() {
            return Ok(());
        }
        Err(Error::Refused {
            command: format!("{prlimit:?}"),
            reply: status.to_string(),
        })
    }

    /// Lets it go on after [`RedisServer::pause`].
    pub fn resume(&self) {
        self.signal(Signal::SIGCONT);
    }

    fn signal(&self, signal: Signal) {
        if let Some(process) = &self.process {
            process.signal(signal);
        }
    }

    /// Deletes its files. A running server keeps what it has in memory, so stop it first.
    pub fn wipe_data(&self) -> Result<()> {
        remove_if_there(&self.data())
    }

    /// A connection of its own, for setting up and looking.
    pub fn connect(&self) -> Result<Resp> {
        Resp::connect(self.port.address())
    }

    /// The address for clients, `redis://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("redis://{}", self.port.address())
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// Its process id, if it runs.
    pub fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(Process::pid)
    }

    /// What it printed since it was last started, if it runs.
    pub fn output(&self) -> Option<&Output> {
        self.process.as_ref().map(Process::output)
    }

    /// The folder of its files.
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }
}

/// A running `valkey-server`; everything else is as with [`RedisServer`].
#[derive(Debug)]
pub struct ValkeyServer(RedisServer);

impl ValkeyServer {
    /// Starts `valkey-server` on a free port with an empty data folder.
    pub fn start_new() -> Result<Self> {
        Ok(Self(RedisServer::start_program(
            find("valkey-server", "GENGFU_VALKEY_SERVER")?,
            &[],
        )?))
    }
}

impl Deref for ValkeyServer {
    type Target = RedisServer;
    fn deref(&self) -> &RedisServer {
        &self.0
    }
}

impl DerefMut for ValkeyServer {
    fn deref_mut(&mut self) -> &mut RedisServer {
        &mut self.0
    }
}
