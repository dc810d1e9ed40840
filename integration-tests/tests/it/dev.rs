//! `gengfu dev`: what it prints is true, and nothing of it is left behind, not even where it is killed.

use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use gengfu_integration_tests::{Gengfu, Signal, eventually};
use nix::sys::signal::kill;
use nix::unistd::Pid;
use serde_json::json;
use tempfile::TempDir;

const LIMIT: Duration = Duration::from_secs(60);

/// A `gengfu dev`, and what it printed.
struct Dev {
    process: Gengfu,
    api: String,
    servers: [SocketAddr; 2],
}

impl Dev {
    fn start(data: &Path) -> Self {
        let process = spawn(data);
        let mut words = ["api ", "nats ", "redis "].map(|name| {
            let line = process.output().wait_for(&format!("  {name} "), LIMIT).unwrap();
            line.split_whitespace().nth(1).unwrap().to_owned()
        });
        let servers = [1, 2].map(|at| words[at].split("://").nth(1).unwrap().parse().unwrap());
        Self {
            api: std::mem::take(&mut words[0]),
            servers,
            process,
        }
    }

    fn servers_answer(&self) -> [bool; 2] {
        self.servers.map(|address| TcpStream::connect(address).is_ok())
    }
}

fn spawn(data: &Path) -> Gengfu {
    let dev = Gengfu::bare("dev").arg("--listen").arg("127.0.0.1:0");
    dev.arg("--data").arg(data.to_str().unwrap()).start().unwrap()
}

/// A data folder whose servers are certainly gone with it, whatever a test finds out.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::Builder::new().prefix("gengfu-dev-").tempdir().unwrap())
    }

    /// The servers that the last `dev` here started.
    fn servers(&self) -> Vec<Pid> {
        let noted = std::fs::read_to_string(self.0.path().join("servers.lock")).unwrap_or_default();
        let pid = |line: &str| line.split("process ").nth(1)?.trim_end_matches(')').parse().ok();
        noted.lines().filter_map(pid).map(Pid::from_raw).collect()
    }

    /// Those of them that still run out of this folder: a number may have become a stranger's.
    fn left(&self) -> Vec<Pid> {
        let stdin = |pid: &Pid| std::fs::read_link(format!("/proc/{pid}/fd/0")).ok();
        let lock = self.0.path().canonicalize().unwrap().join("servers.lock");
        let ours = |pid: &Pid| stdin(pid).is_some_and(|file| file == lock);
        self.servers().into_iter().filter(ours).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        for pid in self.left() {
            let _ = kill(pid, Signal::SIGKILL);
        }
    }
}

#[tokio::test]
async fn it_prints_the_port_that_it_took_and_ends_what_it_started() {
    let folder = Folder::new();
    let mut dev = Dev::start(folder.0.path());
    assert_eq!(dev.api, dev.process.url().unwrap());
    let api = dev.process.api().unwrap();
    eventually!(within LIMIT, api.is_ready().await);
    assert_eq!((dev.servers_answer(), folder.left().len()), ([true, true], 2));
    let mut second = spawn(folder.0.path());
    assert_eq!(second.wait(LIMIT).unwrap().code(), Some(2));
    second
        .output()
        .wait_for("is in use by another gengfu dev", LIMIT)
        .unwrap();
    assert!(api.is_ready().await, "the first goes on");
    assert_eq!(
        dev.process.terminate(LIMIT).unwrap().code(),
        Some(0),
        "{}",
        dev.process.output().tail()
    );
    assert_eq!((dev.servers_answer(), folder.left()), ([false, false], vec![]));
}

#[tokio::test]
async fn a_killed_one_takes_its_servers_along_and_the_next_one_finds_its_tasks() {
    let folder = Folder::new();
    let mut dev = Dev::start(folder.0.path());
    let api = dev.process.api().unwrap();
    let types = json!({"types": [{"name": "say", "handler": "echo"}]});
    let applied = api.post("/api/v1/apply", &types).await.unwrap();
    assert!(applied.status.is_success(), "{}", applied.text());
    let task = json!({"task_type": "say", "payload": "once", "delay": "1h"});
    let submitted = api.post("/api/v1/tasks", &task).await.unwrap().json();
    let path = format!("/api/v1/tasks/{}", submitted["task_id"].as_str().unwrap());

    let servers = folder.left();
    assert_eq!(servers.len(), 2);
    dev.process.kill();
    eventually!(within LIMIT, folder.left().is_empty());
    // Stands for a server that takes its time to end: it holds the lock, so the next `dev` waits.
    let lock = std::fs::File::open(folder.0.path().join("servers.lock")).unwrap();
    lock.lock().unwrap();
    let next = spawn(folder.0.path());
    next.output()
        .wait_for("waiting for the servers of a gengfu dev that was killed", LIMIT)
        .unwrap();
    drop(lock);
    let api = next.api().unwrap();
    eventually!(within LIMIT, api.is_ready().await);
    let found = api.get(&path).await.unwrap().json();
    assert_eq!(found["status"], "pending", "{found}");
    assert!(
        folder.left().iter().all(|server| !servers.contains(server)),
        "what answers now is new"
    );
}
