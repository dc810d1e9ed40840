//! What a run of the load does, as its payload says: the same in the executor and as a program of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context;
use handler::{Bytes, HandlerError, TaskContext, TaskHandler, async_trait};
use serde::{Deserialize, Serialize};

use crate::ledger::{Mark, Pen};

/// The variable that names the ledger.
pub const LEDGER: &str = "CHAOS_LEDGER";
/// How often a run says that it is alive.
const ALIVE_EVERY: Duration = Duration::from_millis(50);

/// How a run ends, after it has taken its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// Well.
    Succeed,
    /// With a transient error in the first attempt, then well.
    Transient,
    /// With a deterministic error.
    Deterministic,
    /// With a panic in the first attempt, then well.
    Panic,
}

/// A payload.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Act {
    /// How it ends.
    pub how: How,
    /// How long it takes, in milliseconds.
    pub ms: u64,
}

impl Act {
    fn fails(&self, attempt: u32) -> bool {
        match self.how {
            How::Succeed => false,
            How::Transient | How::Panic => attempt == 1,
            How::Deterministic => true,
        }
    }
}

/// The handler `chaos`.
#[derive(Debug)]
pub struct Chaos {
    ledger: PathBuf,
}

impl Chaos {
    /// The handler, with the ledger that the environment names.
    ///
    /// # Errors
    /// The variable is not set.
    pub fn from_env() -> anyhow::Result<Self> {
        let ledger = std::env::var_os(LEDGER).with_context(|| format!("{LEDGER} names no ledger"))?;
        Ok(Self {
            ledger: ledger.into(),
        })
    }
}

#[async_trait]
impl TaskHandler for Chaos {
    async fn run(&self, ctx: &TaskContext, payload: Bytes) -> Result<Bytes, HandlerError> {
        let act: Act = serde_json::from_slice(&payload)?;
        let mut pen = Pen::open(
            &self.ledger,
            &ctx.task_id().to_string(),
            ctx.attempt(),
            ctx.fencing_token(),
        )?;
        pen.write(Mark::Begin)?;
        let mut left = Duration::from_millis(act.ms);
        while !left.is_zero() {
            let step = left.min(ALIVE_EVERY);
            tokio::time::sleep(step).await;
            pen.write(Mark::Alive)?;
            left -= step;
        }
        if act.fails(ctx.attempt()) {
            pen.write(Mark::Fail)?;
            return Err(match act.how {
                How::Panic => panic!("this attempt panics"),
                How::Deterministic => HandlerError::deterministic("chaos", "it would fail again"),
                How::Succeed | How::Transient => HandlerError::transient("chaos", "it may pass"),
            });
        }
        pen.write(Mark::End)?;
        Ok(payload)
    }
}

/// The same as a program that the `command` handler starts; it leaves a grandchild behind, which is not its own to end.
///
/// # Errors
/// Its environment or its standard input is not that of a task.
pub fn program() -> anyhow::Result<()> {
    let variable = |name: &str| std::env::var(name).with_context(|| format!("{name} is not set"));
    let act: Act = serde_json::from_reader(std::io::stdin()).context("reading the payload")?;
    let attempt = variable("GENGFU_ATTEMPT")?.parse().context("GENGFU_ATTEMPT")?;
    let (task, token) = (variable("GENGFU_TASK_ID")?, variable("GENGFU_FENCING_TOKEN")?);
    let mut pen = Pen::open(Path::new(&variable(LEDGER)?), &task, attempt, &token)?;
    pen.write(Mark::Begin)?;
    Command::new("setsid")
        .args(["sleep", "1000"])
        .stdin(Stdio::null())
        .spawn()
        .context("starting a grandchild")?;
    let mut left = Duration::from_millis(act.ms);
    while !left.is_zero() {
        let step = left.min(ALIVE_EVERY);
        #[expect(
            clippy::disallowed_methods,
            reason = "a program of its own, without a runtime"
        )]
        std::thread::sleep(step);
        pen.write(Mark::Alive)?;
        left -= step;
    }
    pen.write(Mark::End)?;
    Ok(())
}
