//! A real nats-server on a free port, with a data folder of its own, gone on drop.

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, ChildStderr, Command, Stdio},
    time::Duration,
};

use anyhow::{Context, Result, bail};
use messaging::{Bus, Config};

/// A server that can be stopped, wiped and started again on its port.
pub(crate) struct Nats {
    child: Option<Child>,
    folder: tempfile::TempDir,
    port: i32,
}

impl Nats {
    pub(crate) fn start() -> Result<Self> {
        Self::with("")
    }

    /// A server with further lines in its configuration.
    pub(crate) fn with(lines: &str) -> Result<Self> {
        let mut nats = Self {
            child: None,
            folder: tempfile::tempdir()?,
            port: -1,
        };
        let store = nats.store();
        let jetstream = format!(
            "jetstream {{ store_dir: \"{}\", max_mem: 1G, max_file: 20G, sync_interval: 1s }}",
            store.display()
        );
        let jetstream = if lines.contains("without jetstream") {
            ""
        } else {
            &jetstream
        };
        std::fs::write(
            nats.folder.path().join("nats.conf"),
            format!("{jetstream}\n{lines}\n"),
        )?;
        nats.start_again()?;
        Ok(nats)
    }

    /// Starts it on the port that it had; the first time on a free one. Returns when it listens.
    pub(crate) fn start_again(&mut self) -> Result<()> {
        let mut child = Command::new(server()?)
            .arg("-c")
            .arg(self.folder.path().join("nats.conf"))
            .args(["-a", "127.0.0.1", "-p", &self.port.to_string()])
            .stderr(Stdio::piped())
            .spawn()
            .context("start nats-server")?;
        let stderr = child.stderr.take().context("stderr is piped")?;
        self.child = Some(child);
        self.port = wait_until_listening(stderr)?;
        Ok(())
    }

    /// Kills it, as a crash does.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Deletes everything that it stored.
    pub(crate) fn wipe(&self) -> Result<()> {
        Ok(std::fs::remove_dir_all(self.store())?)
    }

    /// Stops its process in place: connections stay, nothing is answered.
    pub(crate) fn freeze(&self) -> Result<()> {
        gengfu_integration_tests::freeze(self.child.as_ref().context("runs")?);
        Ok(())
    }

    /// Lets it go on.
    pub(crate) fn thaw(&self) -> Result<()> {
        self.signal("-CONT")
    }

    pub(crate) fn config(&self) -> Config {
        Config {
            url: format!("nats://127.0.0.1:{}", self.port),
            ..Config::default()
        }
    }

    /// A bus that is ready.
    pub(crate) async fn bus(&self) -> Result<Bus> {
        ready(self.config()).await
    }

    /// A bare client, to look at the server from outside.
    pub(crate) async fn bare(&self) -> Result<async_nats::jetstream::Context> {
        let client = async_nats::connect(format!("127.0.0.1:{}", self.port)).await?;
        Ok(async_nats::jetstream::new(client))
    }

    fn store(&self) -> PathBuf {
        self.folder.path().join("store")
    }

    fn signal(&self, signal: &str) -> Result<()> {
        let pid = self.child.as_ref().context("runs")?.id().to_string();
        let status = Command::new("kill").args([signal, &pid]).status()?;
        if status.success() {
            Ok(())
        } else {
            bail!("kill {signal} failed")
        }
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A bus that is ready.
pub(crate) async fn ready(config: Config) -> Result<Bus> {
    let bus = Bus::connect(config).await?;
    within(bus.wait_ready()).await??;
    Ok(bus)
}

/// What must happen soon.
pub(crate) async fn within<F: Future>(what: F) -> Result<F::Output> {
    tokio::time::timeout(Duration::from_secs(15), what)
        .await
        .context("did not happen in 15 s")
}

/// Asks again and again until the answer is some.
pub(crate) async fn eventually<T, F: Future<Output = Option<T>>>(mut ask: impl FnMut() -> F) -> Result<T> {
    within(async {
        let mut often = tokio::time::interval(Duration::from_millis(10));
        loop {
            often.tick().await;
            if let Some(answer) = ask().await {
                return answer;
            }
        }
    })
    .await
}

fn server() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("GENGFU_NATS_SERVER") {
        return Ok(path.into());
    }
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools/bin");
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain([here])
        .map(|folder| folder.join("nats-server"))
        .find(|file| file.is_file())
        .context("no nats-server in GENGFU_NATS_SERVER, PATH or .tools/bin; script/bootstrap installs one")
}

/// Reads the log until the server is ready; a thread reads the rest, so that the pipe never fills.
fn wait_until_listening(stderr: ChildStderr) -> Result<i32> {
    let mut lines = BufReader::new(stderr).lines();
    let (mut port, mut log) = (None, String::new());
    for line in lines.by_ref() {
        let line = line?;
        if let Some((_, address)) = line.split_once("Listening for client connections on ") {
            port = address.rsplit(':').next().and_then(|port| port.parse().ok());
        }
        if line.contains("Server is ready") {
            std::thread::spawn(move || lines.for_each(drop));
            return port.context("the log names the port");
        }
        log = log + &line + "\n";
    }
    bail!("nats-server did not start:\n{log}")
}
