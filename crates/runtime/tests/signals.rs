//! Signals, sent to a child process: the test runs itself.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

use anyhow::{Context, Result};
use gengfu_runtime::Shutdown;

const CHILD: &str = "GENGFU_TEST_SIGNALS";

/// Ends the child whatever happens to the test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Not a test of its own: what the child does.
#[tokio::test]
async fn child() -> Result<()> {
    if std::env::var_os(CHILD).is_none() {
        return Ok(());
    }
    let shutdown = Shutdown::on_signals()?;
    eprintln!("ready");
    shutdown.wait().await;
    eprintln!("stopping");
    let again = Shutdown::on_signals()?;
    eprintln!("ready again");
    again.wait().await;
    eprintln!("stopped");
    Ok(())
}

#[test]
fn term_and_int_trigger_it_and_a_second_signal_kills_nobody() -> Result<()> {
    let mut child = Command::new(std::env::current_exe()?)
        .args(["--exact", "child", "--nocapture"])
        .env(CHILD, "1")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map(Ended)?;
    let mut lines = BufReader::new(child.0.stderr.take().context("no standard error")?).lines();
    for (told, signal) in [
        ("ready", Some("TERM")),
        ("stopping", None),
        ("ready again", Some("INT")),
    ] {
        assert_eq!(lines.next().context("it ended early")??, told);
        if let Some(signal) = signal {
            let sent = Command::new("kill")
                .args(["-s", signal, &child.0.id().to_string()])
                .status()?;
            assert!(sent.success());
        }
    }
    assert_eq!(lines.next().context("it ended early")??, "stopped");
    assert!(child.0.wait()?.success());
    Ok(())
}
