//! The demo: starts the town and an endpoint that fails in known ways, runs one task for each of 3,376 airports, and
//! compares what the endpoint saw with what the town says of every task.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod endpoint;
mod fate;
mod history;
mod http;
mod ledger;
mod report;
mod rows;
mod town;
mod verdict;

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context;
use clap::Parser;
use serde::Deserialize;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::endpoint::Endpoint;
use crate::report::Report;
use crate::town::Town;

const TYPES: &str = include_str!("../types.yaml");
/// The endpoint's address as types.yaml has it.
const ENDPOINT_IN_TYPES: &str = "http://127.0.0.1:7421/check";
const TYPE: &str = "airport.check";

/// 3,376 airports, one task each, against an endpoint that fails in known ways.
#[derive(Debug, Parser)]
struct Arguments {
    /// End when the batch is done, on free ports; exit 0 only if nothing was lost or duplicated.
    #[arg(long)]
    once: bool,
}

/// The last line of `gengfu batch --json`.
#[derive(Debug, Deserialize)]
struct Batch {
    batch_id: String,
}

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    let mut interrupts = Interrupts::listen()?;
    let folder = tempfile::Builder::new()
        .prefix("gengfu-demo-")
        .tempdir()
        .context("creating a data folder")?;
    let port = |fixed: u16| if arguments.once { 0 } else { fixed };
    let endpoint = Endpoint::start(([127, 0, 0, 1], port(7421)).into()).await?;
    let mut town = Town::start(folder.path(), ([127, 0, 0, 1], port(7420)).into()).await?;
    let outcome = tokio::select! {
        outcome = walk(&endpoint, &mut town, folder.path(), arguments.once) => outcome,
        () = interrupts.came() => Ok(!arguments.once),
    };
    town.stop().await;
    Ok(if outcome? {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Runs the batch and reports; unless `once`, the town then stays up. Gives whether all was well.
async fn walk(endpoint: &Endpoint, town: &mut Town, folder: &Path, once: bool) -> anyhow::Result<bool> {
    let types = write_types(folder, endpoint)?;
    town.run(&[OsStr::new("apply"), OsStr::new("-f"), types.as_os_str()])
        .await?;
    say(&format!(
        "the town is at {}; {} tasks of {TYPE}",
        town.url(),
        rows::read(rows::FILE.as_ref())?.len()
    ))?;
    let report = run_batch(endpoint, town).await?;
    say(&format!("{report}"))?;
    say(&report.json())?;
    if !once {
        say(&format!(
            "\napi       {url}/api/v1/tasks\nready     {url}/readyz\nmetrics   {url}/metrics\nendpoint  {}\nlog       {}\n\
             commands  export GENGFU_SERVER={url}; target/debug/gengfu task list\nctrl-c ends it",
            endpoint.url(),
            town.log().display(),
            url = town.url(),
        ))?;
        let status = town.ended().await?;
        anyhow::bail!(
            "gengfu dev ended with {status}; its log is {}",
            town.log().display()
        );
    }
    Ok(report.is_clean())
}

async fn run_batch(endpoint: &Endpoint, town: &Town) -> anyhow::Result<Report> {
    let started = Instant::now();
    let arguments = ["batch", TYPE, rows::FILE, "--wait", "--json"].map(OsStr::new);
    let printed = town.run(&arguments).await?;
    let took = started.elapsed();
    let last = printed.lines().last().unwrap_or_default();
    let batch: Batch =
        serde_json::from_str(last).with_context(|| format!("gengfu batch --json printed {last:?}"))?;
    let histories = history::read(town.url(), &batch.batch_id).await?;
    let calls = endpoint.ledger().calls();
    let rows = rows::read(rows::FILE.as_ref())?;
    let verdict = verdict::compare(&rows, &histories, &calls, endpoint.ledger().unexplained());
    Ok(Report::new(&histories, calls.len(), took, verdict))
}

/// types.yaml with the endpoint's real address.
fn write_types(folder: &Path, endpoint: &Endpoint) -> anyhow::Result<PathBuf> {
    let file = folder.join("types.yaml");
    std::fs::write(&file, TYPES.replace(ENDPOINT_IN_TYPES, &endpoint.url())).context("writing types.yaml")?;
    Ok(file)
}

fn say(text: &str) -> anyhow::Result<()> {
    writeln!(std::io::stdout(), "{text}").context("printing")
}

/// Ctrl-c and SIGTERM, listened for from the start, so that the town is never left behind.
struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
}

impl Interrupts {
    fn listen() -> anyhow::Result<Self> {
        let listen = |kind| signal(kind).context("listening for signals");
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
        })
    }

    async fn came(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_declared_address_is_replaced_by_the_real_one() {
        let folder = tempfile::tempdir().unwrap();
        let endpoint = Endpoint::start(([127, 0, 0, 1], 0).into()).await.unwrap();
        let written = std::fs::read_to_string(write_types(folder.path(), &endpoint).unwrap()).unwrap();
        assert!(
            written.contains(&format!("url: \"{}\"", endpoint.url())),
            "{written}"
        );
        assert!(!written.contains("7421/check"), "{written}");
    }
}
