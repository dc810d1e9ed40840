//! The town as a child process, and the operator's commands against it.

use std::ffi::OsStr;
use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};

use crate::http;

const READY_LIMIT: Duration = Duration::from_secs(60);
const STOP_LIMIT: Duration = Duration::from_secs(30);
const COMMAND_LIMIT: Duration = Duration::from_secs(600);
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A running `gengfu dev`. End it with [`Town::stop`], so that its servers end too.
#[derive(Debug)]
pub(crate) struct Town {
    program: PathBuf,
    process: Child,
    url: String,
    log: PathBuf,
}

impl Town {
    /// Starts it with its data in `folder`, on `wanted` or a free port, and waits until it is ready.
    pub(crate) async fn start(folder: &Path, wanted: SocketAddr) -> anyhow::Result<Self> {
        let program = program()?;
        let listen = free_address(wanted).await?;
        let log = folder.join("gengfu.log");
        let file = File::create(&log).with_context(|| format!("creating {}", log.display()))?;
        let process = Command::new(&program)
            .arg("dev")
            .arg("--data")
            .arg(folder.join("data"))
            .args(["--listen", &listen.to_string()])
            .stdin(Stdio::null())
            .stdout(file.try_clone().context("sharing the log")?)
            .stderr(file)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("starting {}", program.display()))?;
        let mut town = Self {
            program,
            process,
            url: format!("http://{listen}"),
            log,
        };
        match town.wait_until_ready().await {
            Ok(()) => Ok(town),
            Err(error) => {
                let tail = tail(&town.log);
                town.stop().await;
                Err(error.context(format!("the town did not come up; the end of its log:\n{tail}")))
            }
        }
    }

    async fn wait_until_ready(&mut self) -> anyhow::Result<()> {
        let client = http::client(Duration::from_secs(5))?;
        let ready = format!("{}/readyz", self.url);
        let deadline = Instant::now() + READY_LIMIT;
        loop {
            if client
                .get(&ready)
                .send()
                .await
                .is_ok_and(|answer| answer.status().is_success())
            {
                return Ok(());
            }
            if let Some(status) = self.process.try_wait().context("watching gengfu dev")? {
                bail!("gengfu dev ended with {status}");
            }
            if Instant::now() > deadline {
                bail!("{ready} did not answer 200 within {READY_LIMIT:?}");
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Its address for clients.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Where its log goes.
    pub(crate) fn log(&self) -> &Path {
        &self.log
    }

    /// Runs one of the operator's commands and gives its standard output; its progress goes to ours.
    pub(crate) async fn run(&self, arguments: &[&OsStr]) -> anyhow::Result<String> {
        let shown = arguments
            .iter()
            .map(|word| word.to_string_lossy())
            .collect::<Vec<_>>()
            .join(" ");
        let running = Command::new(&self.program)
            .args(arguments)
            .env("GENGFU_SERVER", &self.url)
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .kill_on_drop(true)
            .output();
        let output = tokio::time::timeout(COMMAND_LIMIT, running)
            .await
            .with_context(|| format!("gengfu {shown} did not end within {COMMAND_LIMIT:?}"))?
            .with_context(|| format!("running gengfu {shown}"))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if !output.status.success() {
            bail!(
                "gengfu {shown} ended with {}: {text}\n{}",
                output.status,
                tail(&self.log)
            );
        }
        Ok(text)
    }

    /// Waits until it ends by itself.
    pub(crate) async fn ended(&mut self) -> anyhow::Result<ExitStatus> {
        self.process.wait().await.context("waiting for gengfu dev")
    }

    /// Asks it to end with all that it started, and kills it only if it does not.
    pub(crate) async fn stop(mut self) {
        let pid = self
            .process
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .map(nix::unistd::Pid::from_raw);
        if let Some(pid) = pid {
            // The child is not reaped yet, so the pid is still its own.
            let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM);
        }
        if tokio::time::timeout(STOP_LIMIT, self.process.wait())
            .await
            .is_err()
        {
            let _ = self.process.kill().await;
        }
    }
}

/// The binary that was built beside this one.
fn program() -> anyhow::Result<PathBuf> {
    let here = std::env::current_exe().context("finding this program's folder")?;
    let program = here.with_file_name("gengfu");
    anyhow::ensure!(
        program.is_file(),
        "{} is not there: build it with cargo build -p gengfu",
        program.display()
    );
    Ok(program)
}

async fn free_address(wanted: SocketAddr) -> anyhow::Result<SocketAddr> {
    let listener = match TcpListener::bind(wanted).await {
        Ok(listener) => listener,
        Err(_) => TcpListener::bind((wanted.ip(), 0))
            .await
            .context("looking for a free port")?,
    };
    listener.local_addr().context("looking for a free port")
}

fn tail(log: &Path) -> String {
    let text = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(30)..].join("\n")
}
