//! Processes: signals arrive by pid, ends are noticed, nothing outlives its owner.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use gengfu_integration_tests::{Process, Signal, eventually};

const LIMIT: Duration = Duration::from_secs(20);

fn shell(script: &str) -> Process {
    Process::spawn("sh", Command::new("sh").args(["-c", script])).unwrap()
}

/// The letter of Linux's process state: R, S, T for stopped, Z for a zombie.
fn state(pid: u32) -> Option<char> {
    let stat = std::fs::read_to_string(PathBuf::from(format!("/proc/{pid}/stat"))).ok()?;
    stat.rsplit(')').next()?.trim().chars().next()
}

#[test]
fn an_end_is_noticed_with_its_exit_code() {
    let mut process = shell("echo started; read line; exit 3");
    process.output().wait_for("started", LIMIT).unwrap();
    assert_eq!(process.wait(LIMIT).unwrap().code(), Some(3));
    assert!(!process.is_running());
    process.signal(Signal::SIGTERM);
    process.kill();
}

#[test]
fn one_that_goes_on_is_reported_not_waited_for() {
    let mut process = shell("exec tail -f /dev/null");
    assert!(process.wait(Duration::from_millis(20)).is_err());
    assert!(process.is_running());
}

#[test]
fn terminate_lets_it_end_in_order() {
    let mut process = shell("trap 'echo drained; exit 0' TERM; echo up; while :; do sleep 0.05; done");
    process.output().wait_for("up", LIMIT).unwrap();
    assert_eq!(process.terminate(LIMIT).unwrap().code(), Some(0));
    process.output().wait_for("drained", LIMIT).unwrap();
}

#[tokio::test]
async fn a_paused_process_stands_still_and_goes_on() {
    let process = shell("exec tail -f /dev/null");
    process.signal(Signal::SIGSTOP);
    eventually!(state(process.pid()) == Some('T'));
    process.signal(Signal::SIGCONT);
    eventually!(state(process.pid()) == Some('S'));
}

#[test]
fn a_dropped_process_is_dead_and_reaped() {
    let process = shell("exec tail -f /dev/null");
    let pid = process.pid();
    assert!(state(pid).is_some());
    drop(process);
    assert_eq!(state(pid), None);
}

#[test]
fn a_line_that_never_comes_shows_what_came_instead() {
    let process = shell("echo no room left; exit 1");
    let error = process.output().wait_for("ready", LIMIT).unwrap_err().to_string();
    assert!(error.contains("sh| no room left"), "{error}");
}
