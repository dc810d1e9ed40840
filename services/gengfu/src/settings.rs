//! Reads the configuration of a role: defaults < file < environment < flags.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use runtime::Config;
use runtime::config::{LogFormat, Sources};
use telemetry::{Guard, TelemetryConfig};

/// What every role takes on its command line.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The configuration file (TOML).
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// A single setting, such as --set executor.pool=reports; may be given again.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// The HTTP address of health, metrics and, for the gateway, the API.
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<String>,
    /// Shows the settings that would be used, secrets masked, and ends.
    #[arg(long)]
    pub(crate) print_config: bool,
}

/// One sentence, and the exit code of a wrong use.
pub(crate) fn refuse(sentence: &str) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "gengfu: {sentence}");
    ExitCode::from(2)
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}

/// Loads the settings, or ends the process: with the sentence that says what is wrong, or after showing them.
pub(crate) fn load(args: &Args) -> Result<(Config, Vec<String>), ExitCode> {
    let mut flags = BTreeMap::new();
    for setting in &args.set {
        let Some((key, value)) = setting.split_once('=') else {
            return Err(refuse(&format!(
                "--set {setting:?} has no '='; write --set executor.pool=reports"
            )));
        };
        flags.insert(key.to_owned(), value.to_owned());
    }
    if let Some(listen) = &args.listen {
        flags.insert("listen".into(), listen.clone());
    }
    let sources = Sources::of_process(args.config.as_deref(), flags);
    let loaded = sources.load().map_err(|error| refuse(&chain(&error)))?;
    if args.print_config {
        let _ = std::io::stdout().write_all(loaded.config.print().as_bytes());
        return Err(ExitCode::SUCCESS);
    }
    Ok((loaded.config, loaded.warnings))
}

/// Starts log and traces for the process.
pub(crate) fn telemetry(config: &Config, role: &str, node: &str) -> Result<Guard, ExitCode> {
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
