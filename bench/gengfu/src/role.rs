//! One process of the town, with its log in a file and its cost from `/proc`.

use std::{
    fs::File,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use gengfu_integration_tests::gengfu_binary;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

const START_LIMIT: Duration = Duration::from_secs(30);
const STOP_LIMIT: Duration = Duration::from_secs(30);
/// Clock ticks of `/proc/PID/stat` in a second; Linux has shown 100 on every machine for decades.
const TICKS: f64 = 100.0;

/// A running role. Dropping it kills it.
pub(crate) struct Role {
    pub(crate) name: &'static str,
    child: Child,
    log: PathBuf,
}

impl Role {
    /// Starts a role; of several of a kind the others have a number behind the kind, as in `scheduler-2`.
    pub(crate) fn start(name: &'static str, folder: &Path, settings: &[String]) -> Result<Self> {
        let kind = name.split('-').next().unwrap_or(name);
        let config = folder.join(format!("{name}.toml"));
        std::fs::write(&config, settings.join("\n"))?;
        let log = folder.join(format!("{name}.log"));
        let file = File::create(&log)?;
        let child = Command::new(gengfu_binary()?)
            .arg(kind)
            .arg("--config")
            .arg(&config)
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .spawn()
            .with_context(|| format!("starting the {name}"))?;
        Ok(Self { name, child, log })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Where its log lies.
    pub(crate) fn log(&self) -> &Path {
        &self.log
    }

    /// The address that it says it listens at.
    pub(crate) async fn address(&self) -> Result<SocketAddr> {
        let since = Instant::now();
        while since.elapsed() < START_LIMIT {
            let text = std::fs::read_to_string(&self.log)?;
            if let Some(address) = text
                .lines()
                .find(|line| line.contains("listening"))
                .and_then(address_in)
            {
                return Ok(address);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        bail!("the {} did not say where it listens", self.name)
    }

    /// Asks it to drain, and waits for its end.
    pub(crate) async fn stop(mut self) -> Result<()> {
        kill(Pid::from_raw(i32::try_from(self.pid())?), Signal::SIGTERM)?;
        let since = Instant::now();
        while since.elapsed() < STOP_LIMIT {
            if self.child.try_wait()?.is_some() {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        bail!("the {} did not end", self.name)
    }
}

impl Drop for Role {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn address_in(line: &str) -> Option<SocketAddr> {
    line.split(|c: char| !(c.is_ascii_hexdigit() || ".:".contains(c)))
        .find_map(|word| word.trim_matches(':').parse().ok())
}

/// Seconds of CPU that a process has used, in user and system mode.
pub(crate) fn cpu_seconds(pid: u32) -> Result<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|text| text.parse::<f64>().ok());
    Ok((ticks(11).context("utime")? + ticks(12).context("stime")?) / TICKS)
}

/// Resident memory of a process, in MiB.
pub(crate) fn rss_mib(pid: u32) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .context("VmRSS")?;
    let kib: f64 = line.split_whitespace().nth(1).context("VmRSS")?.parse()?;
    Ok(kib / 1_024.0)
}
