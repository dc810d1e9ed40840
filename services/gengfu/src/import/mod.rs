//! `gengfu import`: what another scheduler was told, as definitions that `gengfu apply` takes, and what has no
//! counterpart here.

mod command;
mod crontab;
mod draft;
mod names;
mod xxl_job;
mod xxl_rows;
mod yaml;

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use calendar::Zone;
use clap::Subcommand;

use crate::client::{line, note, out};
use crate::usage::Usage;
use draft::Draft;

/// The largest file that is read, in bytes.
const FILE_BYTES: u64 = 64 * 1024 * 1024;

/// Where definitions come from.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Reads a crontab and prints definitions (YAML).
    Crontab {
        /// The file, or - for standard input.
        file: PathBuf,
        /// The zone of the host whose crontab this is; CRON_TZ goes before it.
        #[arg(long)]
        zone: String,
        /// The sixth column is a user, as in /etc/crontab and /etc/cron.d.
        #[arg(long)]
        system: bool,
    },
    /// Reads XXL-JOB's table xxl_job_info, exported as CSV with a header or as JSON, and prints definitions (YAML).
    XxlJob {
        /// The file, or - for standard input.
        file: PathBuf,
        /// The zone of XXL-JOB's server.
        #[arg(long)]
        zone: String,
    },
}

pub(crate) fn run(command: &Command, json: bool) -> anyhow::Result<()> {
    let draft = match command {
        Command::Crontab { file, zone, system } => crontab::read(&read(file)?, &zone_name(zone)?, *system),
        Command::XxlJob { file, zone } => xxl_job::read(&read(file)?, &zone_name(zone)?)?,
    };
    show(&draft, json)
}

fn zone_name(zone: &str) -> Result<String, Usage> {
    match Zone::named(zone) {
        Ok(zone) => Ok(zone.name().to_owned()),
        Err(error) => Err(Usage::new("--zone", &error, &error.hint())),
    }
}

fn read(file: &Path) -> anyhow::Result<String> {
    let name = file.display();
    let mut bytes = Vec::new();
    let read = match file.as_os_str() == "-" {
        true => std::io::stdin().take(FILE_BYTES + 1).read_to_end(&mut bytes),
        false => std::fs::File::open(file).and_then(|file| file.take(FILE_BYTES + 1).read_to_end(&mut bytes)),
    };
    read.with_context(|| format!("{name} can't be read"))?;
    if bytes.len() as u64 > FILE_BYTES {
        bail!("{name} is larger than {FILE_BYTES} bytes; split it");
    }
    let text =
        String::from_utf8(bytes).with_context(|| format!("{name} is not in UTF-8; convert it first"))?;
    Ok(text.trim_start_matches('\u{feff}').to_owned())
}

/// Definitions to standard output; what was not carried over to standard error, or all of it as one object.
fn show(draft: &Draft, json: bool) -> anyhow::Result<()> {
    if json {
        return line(&draft.to_json().to_string());
    }
    out(draft.to_yaml().as_bytes())?;
    for one in &draft.notes {
        note(&one.to_string());
    }
    note(&format!(
        "{} types and {} schedules; {} notes, {} of them about what was left out",
        draft.types.len(),
        draft.schedules.len(),
        draft.notes.len(),
        draft.notes.iter().filter(|one| one.left_out).count()
    ));
    Ok(())
}
