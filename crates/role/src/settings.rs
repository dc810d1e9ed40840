//! Reads the configuration of a role: defaults < file < environment < flags.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use runtime::Config;
use runtime::config::{LogFormat, Sources};
use telemetry::{Guard, TelemetryConfig};

use crate::chain;

/// What every role takes on its command line.
#[derive(Debug, Default, clap::Args)]
pub struct Args {
    /// The configuration file (TOML).
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// A single setting, such as --set executor.pool=reports; may be given again.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// The HTTP address of health, metrics and, for the gateway, the API.
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<String>,
    /// Shows the settings that would be used, secrets masked, and ends.
    #[arg(long)]
    pub print_config: bool,
}

/// Says one sentence on standard error, after the program's name; the exit code of a wrong use.
pub fn refuse(sentence: &str) -> ExitCode {
    let program = std::env::args_os().next().unwrap_or_default();
    let name = Path::new(&program).file_name().unwrap_or_default();
    let _ = writeln!(std::io::stderr(), "{}: {sentence}", name.to_string_lossy());
    ExitCode::from(2)
}

/// The settings of `--set KEY=VALUE` and of `--listen ADDR`, by key.
///
/// # Errors
/// One that has no `=`, in a sentence.
pub fn flags(set: &[String], listen: Option<&str>) -> Result<BTreeMap<String, String>, String> {
    let mut flags = BTreeMap::new();
    for setting in set {
        let Some((key, value)) = setting.split_once('=') else {
            return Err(format!(
                "--set {setting:?} has no '='; write --set executor.concurrency=8"
            ));
        };
        flags.insert(key.to_owned(), value.to_owned());
    }
    if let Some(listen) = listen {
        flags.insert("listen".into(), listen.to_owned());
    }
    Ok(flags)
}

/// Loads the settings and their warnings, or ends the process: with the sentence that says what is wrong, or after
/// showing them.
pub(crate) fn load(args: &Args) -> Result<(Config, Vec<String>), ExitCode> {
    let flags = flags(&args.set, args.listen.as_deref()).map_err(|sentence| refuse(&sentence))?;
    let sources = Sources::of_process(args.config.as_deref(), flags);
    let loaded = sources.load().map_err(|error| refuse(&chain(&error)))?;
    if args.print_config {
        let _ = std::io::stdout().write_all(loaded.config.print().as_bytes());
        return Err(ExitCode::SUCCESS);
    }
    Ok((loaded.config, loaded.warnings))
}

/// Starts log and traces for the process.
///
/// # Errors
/// The exit code, once the sentence that says why stands on standard error.
pub fn telemetry(config: &Config, role: &str, node: &str) -> Result<Guard, ExitCode> {
    let named = &config.telemetry.service_name;
    let settings = TelemetryConfig {
        level: config.log.level.clone(),
        format: match config.log.format {
            LogFormat::Json => telemetry::LogFormat::Json,
            LogFormat::Text => telemetry::LogFormat::Text,
        },
        otlp_endpoint: config.telemetry.otlp_endpoint.expose().to_owned(),
        service_name: if named.is_empty() {
            format!("gengfu-{role}")
        } else {
            named.clone()
        },
        node: node.to_owned(),
    };
    telemetry::init(&settings).map_err(|error| refuse(&chain(&error)))
}
