//! One `gengfu dev` at a time on a data folder: neither a second one, nor the servers of one that was killed.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail};

/// How long the servers of a `dev` that was killed may take to end; each was told to when it died.
const END_LIMIT: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The data folder is this process's, and its servers', as long as they live.
pub(crate) struct DataLock {
    /// Held by this process alone.
    _own: File,
    /// Held by the servers too: they are given it as their standard input.
    servers: File,
}

impl DataLock {
    /// Takes the folder, once the servers of a process that was killed have ended.
    pub(crate) async fn take(data: &Path) -> anyhow::Result<Self> {
        let (own, _) = open(data, "lock")?;
        own.try_lock().with_context(|| {
            format!(
                "{} is in use by another gengfu dev; end it, or give another --data",
                data.display()
            )
        })?;
        let (servers, file) = open(data, "servers.lock")?;
        match tokio::time::timeout(END_LIMIT, lock(&servers)).await {
            Ok(locked) => locked.with_context(|| format!("{} can't be locked", file.display()))?,
            Err(_) => {
                let left = fs::read_to_string(&file).unwrap_or_default();
                bail!(
                    "the servers of a gengfu dev that was killed still use {}; end them: {}",
                    data.display(),
                    left.lines().collect::<Vec<_>>().join(", ")
                );
            }
        }
        servers.set_len(0)?;
        Ok(Self { _own: own, servers })
    }

    /// The standard input of a server.
    pub(crate) fn share(&self) -> anyhow::Result<Stdio> {
        Ok(self.servers.try_clone()?.into())
    }

    /// Notes a server, for the sentence that names those that are left.
    pub(crate) fn note(&self, name: &str, pid: u32) -> anyhow::Result<()> {
        writeln!(&self.servers, "{name} (process {pid})")?;
        Ok(())
    }
}

/// Waits until no server holds it.
async fn lock(servers: &File) -> std::io::Result<()> {
    let mut told = false;
    loop {
        match servers.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) => {
                if !std::mem::replace(&mut told, true) {
                    tracing::info!("waiting for the servers of a gengfu dev that was killed");
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        }
    }
}

fn open(data: &Path, name: &str) -> anyhow::Result<(File, PathBuf)> {
    let path = data.join(name);
    let opened = OpenOptions::new().create(true).append(true).open(&path);
    let file = opened.with_context(|| format!("{} can't be written", path.display()))?;
    Ok((file, path))
}
