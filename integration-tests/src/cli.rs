//! The operator's command line, run as an operator would.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::error::{Error, Result, io};
use crate::program::gengfu_binary;

const LIMIT: Duration = Duration::from_secs(120);

/// Runs `gengfu` commands against one server.
#[derive(Debug, Clone)]
pub struct Cli {
    program: PathBuf,
    server: String,
    limit: Duration,
}

/// What a command left behind.
#[derive(Debug, Clone)]
pub struct CliOutput {
    /// The exit code; none if a signal ended it.
    pub code: Option<i32>,
    /// Standard output, as bytes.
    pub stdout: Vec<u8>,
    /// Standard error, as text.
    pub stderr: String,
}

impl CliOutput {
    /// Standard output as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// The last line of standard output as JSON; null if it is none.
    pub fn json(&self) -> serde_json::Value {
        let text = self.text();
        let whole = serde_json::from_str(&text);
        whole
            .or_else(|_| serde_json::from_str(text.lines().last().unwrap_or_default()))
            .unwrap_or_default()
    }
}

impl Cli {
    /// Commands against the server at this URL.
    pub fn new(server: &str) -> Result<Self> {
        Ok(Self {
            program: gengfu_binary()?,
            server: server.to_owned(),
            limit: LIMIT,
        })
    }

    /// The same with another time limit for one command; the default is 120 s.
    #[must_use]
    pub fn with_limit(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    /// Runs a command without input.
    ///
    /// # Errors
    /// It could not be started, or did not end in time; a command that fails is no error.
    pub async fn run<S: AsRef<std::ffi::OsStr>>(&self, arguments: &[S]) -> Result<CliOutput> {
        self.run_with_input(arguments, b"").await
    }

    /// Runs a command that reads `input` from its standard input.
    pub async fn run_with_input<S: AsRef<std::ffi::OsStr>>(
        &self,
        arguments: &[S],
        input: &[u8],
    ) -> Result<CliOutput> {
        let mut child = Command::new(&self.program)
            .args(arguments)
            .env("GENGFU_SERVER", &self.server)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(io("starting gengfu"))?;
        let stdin = child.stdin.take();
        let feed = async move {
            if let Some(mut stdin) = stdin {
                // A command that does not read its input closes it; that is its right.
                let _ = stdin.write_all(input).await;
            }
        };
        let both = async { tokio::join!(feed, child.wait_with_output()).1 };
        let output = tokio::time::timeout(self.limit, both)
            .await
            .map_err(|_| Error::StillRunning {
                name: "gengfu".to_owned(),
                waited: self.limit,
            })?
            .map_err(io("running gengfu"))?;
        Ok(CliOutput {
            code: output.status.code(),
            stdout: output.stdout,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }
}
