//! A NATS server with JetStream on file.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use crate::error::{Result, io};
use crate::output::Output;
use crate::port::Port;
use crate::process::{Process, Signal};
use crate::program::find;

const START_LIMIT: Duration = Duration::from_secs(30);
const STOP_LIMIT: Duration = Duration::from_secs(30);

/// A running `nats-server`, alone on its port and data.
#[derive(Debug)]
pub struct NatsServer {
    process: Option<Process>,
    port: Port,
    folder: TempDir,
    /// Further lines of its configuration.
    lines: String,
}

impl NatsServer {
    /// Starts a server on a free port with an empty data folder.
    ///
    /// # Errors
    /// No program, or it does not become ready within 30 s.
    pub fn start_new() -> Result<Self> {
        Self::start_with("")
    }

    /// As [`NatsServer::start_new`], with further lines of nats.conf.
    pub fn start_with(lines: &str) -> Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("gengfu-nats-")
            .tempdir()
            .map_err(io("creating a data folder for nats-server"))?;
        let mut server = Self {
            process: None,
            port: Port::reserve()?,
            folder,
            lines: lines.to_owned(),
        };
        server.start()?;
        Ok(server)
    }

    /// Starts it again on the same port and data; nothing happens if it runs.
    pub fn start(&mut self) -> Result<()> {
        if self.process.is_some() {
            return Ok(());
        }
        let mut command = Command::new(find("nats-server", "GENGFU_NATS_SERVER")?);
        command.arg("--config").arg(self.write_config()?);
        let process = Process::spawn("nats-server", &mut command)?;
        process.output().wait_for("Server is ready", START_LIMIT)?;
        self.process = Some(process);
        Ok(())
    }

    /// As the servers that we start or ship a configuration for: synced at most a second late, and with limits that do
    /// not depend on how full the disk is.
    fn write_config(&self) -> Result<PathBuf> {
        let (address, data) = (self.port.address().to_string(), self.folder.path());
        let text = format!(
            "listen: {address:?}\njetstream {{ store_dir: {data:?}, max_mem: 1G, max_file: 20G, sync_interval: 1s }}\n{}\n",
            self.lines
        );
        let file = data.join("nats.conf");
        std::fs::write(&file, text).map_err(io("writing the configuration of nats-server"))?;
        Ok(file)
    }

    /// Ends it in order (SIGTERM); nothing happens if it does not run.
    pub fn stop(&mut self) -> Result<()> {
        match self.process.take() {
            Some(mut process) => process.terminate(STOP_LIMIT).map(drop),
            None => Ok(()),
        }
    }

    /// Ends it at once (SIGKILL).
    pub fn kill(&mut self) {
        self.process = None;
    }

    /// Stops it where it is (SIGSTOP): connections stay open, nothing answers.
    pub fn pause(&self) {
        self.signal(Signal::SIGSTOP);
    }

    /// Lets it go on after [`NatsServer::pause`].
    pub fn resume(&self) {
        self.signal(Signal::SIGCONT);
    }

    fn signal(&self, signal: Signal) {
        if let Some(process) = &self.process {
            process.signal(signal);
        }
    }

    /// Deletes every stream's file, also while the server runs.
    pub fn wipe_data(&self) -> Result<()> {
        remove_if_there(&self.data())
    }

    /// The address for clients, `nats://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("nats://{}", self.port.address())
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

    /// The folder of its streams.
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("jetstream")
    }
}

/// A server that still runs may put a file into a folder between its being emptied and its being removed; then again.
const REMOVALS_MAX: usize = 100;

pub(crate) fn remove_if_there(folder: &Path) -> Result<()> {
    for _ in 1..REMOVALS_MAX {
        match std::fs::remove_dir_all(folder) {
            Err(error) if error.kind() == std::io::ErrorKind::DirectoryNotEmpty => {}
            removed => return absent_is_fine(folder, removed),
        }
    }
    absent_is_fine(folder, std::fs::remove_dir_all(folder))
}

fn absent_is_fine(folder: &Path, removed: std::io::Result<()>) -> Result<()> {
    match removed {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(io(format!("deleting {}", folder.display()))(error))
        }
        _ => Ok(()),
    }
}
