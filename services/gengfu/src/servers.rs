//! The servers that `dev` starts for itself: on free ports, with a data folder of their own, ended with it, also where
//! it is killed.

use std::fs;
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use crate::data_lock::DataLock;
use crate::tether;

/// How long a server may take to answer; Redis loads its data first.
const START_LIMIT: Duration = Duration::from_secs(60);
/// How long a server may take to end.
const STOP_LIMIT: Duration = Duration::from_secs(10);

/// A server that this process started.
pub(crate) struct Server {
    name: &'static str,
    child: Child,
    pub(crate) port: u16,
}

/// A program that is started: from the environment, else from the PATH.
fn program(variable: &str, name: &str) -> anyhow::Result<Command> {
    let named = std::env::var_os(variable).map_or_else(|| PathBuf::from(name), PathBuf::from);
    let search = std::env::var_os("PATH").unwrap_or_default();
    let mut places: Vec<_> = std::env::split_paths(&search)
        .map(|folder| folder.join(&named))
        .collect();
    if named.components().count() > 1 {
        places = vec![named];
    }
    let found = places.into_iter().find(|path| path.is_file());
    found.as_deref().map(tether::command).with_context(|| {
        format!("{name} can't be started; install it (script/bootstrap does), or name it in {variable}")
    })
}

fn free_port() -> io::Result<u16> {
    TcpListener::bind(("127.0.0.1", 0))?
        .local_addr()
        .map(|address| address.port())
}

fn log_file(data: &Path, name: &str) -> anyhow::Result<Stdio> {
    let path = data.join(format!("{name}.log"));
    Ok(fs::File::create(&path)
        .with_context(|| format!("{} can't be written", path.display()))?
        .into())
}

/// Starts a nats-server with JetStream on file, synced each second.
pub(crate) async fn nats(data: &Path, lock: &DataLock) -> anyhow::Result<Server> {
    let port = free_port()?;
    let folder = data.join("nats");
    fs::create_dir_all(&folder)?;
    let config = data.join("nats.conf");
    let text = format!(
        "listen: \"127.0.0.1:{port}\"\nserver_name: gengfu-dev\nmax_payload: 2MB\njetstream {{ store_dir: {:?}, max_mem: 1G, max_file: 20G, sync_interval: 1s }}\n",
        folder
    );
    fs::write(&config, text)?;
    let mut command = program("GENGFU_NATS_SERVER", "nats-server")?;
    command.arg("-c").arg(&config);
    start("nats-server", command, port, data, lock).await
}

/// Starts a redis-server with an AOF that is synced each second.
pub(crate) async fn redis(data: &Path, lock: &DataLock) -> anyhow::Result<Server> {
    let port = free_port()?;
    let folder = data.join("redis");
    fs::create_dir_all(&folder)?;
    let mut command = program("GENGFU_REDIS_SERVER", "redis-server")?;
    command.args([
        "--bind",
        "127.0.0.1",
        "--port",
        &port.to_string(),
        "--daemonize",
        "no",
        "--save",
        "",
    ]);
    command.args([
        "--appendonly",
        "yes",
        "--appendfsync",
        "everysec",
        "--maxmemory-policy",
        "noeviction",
        "--dir",
    ]);
    command.arg(&folder);
    start("redis-server", command, port, data, lock).await
}

async fn start(
    name: &'static str,
    mut command: Command,
    port: u16,
    data: &Path,
    lock: &DataLock,
) -> anyhow::Result<Server> {
    command
        .stdin(lock.share()?)
        .stdout(log_file(data, name)?)
        .stderr(log_file(data, &format!("{name}-errors"))?);
    // Ctrl-c goes to the whole group; the servers shall outlive the drain.
    command.process_group(0).kill_on_drop(true);
    let child = command
        .spawn()
        .with_context(|| format!("{name} can't be started"))?;
    lock.note(name, child.id().unwrap_or_default())?;
    let mut server = Server { name, child, port };
    let answered = tokio::time::timeout(START_LIMIT, async {
        while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
            if let Some(status) = server.child.try_wait()? {
                bail!(
                    "{name} ended at once ({status}); see {}",
                    data.join(format!("{name}.log")).display()
                );
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    });
    answered
        .await
        .with_context(|| format!("{name} does not answer on port {port}"))??;
    Ok(server)
}

impl Server {
    /// Asks it to end, and waits for it.
    pub(crate) async fn stop(mut self) {
        if let Some(pid) = self.child.id() {
            // The child is not reaped yet, so the number is still its own.
            let _ = i32::try_from(pid).map(|pid| kill(Pid::from_raw(pid), Signal::SIGTERM));
        }
        if tokio::time::timeout(STOP_LIMIT, self.child.wait()).await.is_err() {
            tracing::warn!(server = self.name, "did not end in time, killed");
            let _ = self.child.kill().await;
        }
    }
}
