//! The life of a process: settings, log, signals, health; then what the role does; then the exit code.

use std::{error::Error as StdError, process::ExitCode, sync::Arc, time::Duration};

use messaging::Bus;
use runtime::{Config, Health, Shutdown, fault_point};
use store::PlanStore;
use store_redis::KnownEpoch;
use telemetry::Metrics;

use crate::{Args, Error, Wiring, chain, settings, wiring};

/// How long the last answers of the HTTP server may take.
const CLOSE_LIMIT: Duration = Duration::from_secs(2);

/// A process that has its settings and hears signals, and is connected to nothing yet.
#[derive(Debug)]
pub struct Process {
    /// Its settings.
    pub config: Config,
    /// Its name in logs, traces and timelines.
    pub node: String,
    /// What it depends on.
    pub health: Health,
    /// What it counts.
    pub metrics: Metrics,
    /// When it stops.
    pub shutdown: Shutdown,
    /// The epoch of the store, once it is known.
    pub(crate) epoch: KnownEpoch,
}

impl Process {
    /// A process of these settings that stops at SIGTERM and SIGINT.
    ///
    /// # Errors
    /// When the system gives no handler for a signal.
    pub fn new(config: Config, node: String) -> Result<Self, Error> {
        Ok(Self {
            config,
            node,
            health: Health::new(),
            metrics: Metrics::new(),
            shutdown: Shutdown::on_signals().map_err(Error::Signals)?,
            epoch: KnownEpoch::default(),
        })
    }

    /// Starts to connect to NATS; it is waited for in the background, for ever.
    ///
    /// # Errors
    /// When the address is none.
    pub async fn bus(&self) -> Result<Bus, Error> {
        wiring::bus(self).await
    }

    /// Waits for the store, and for its being the one whose events `bus` carries; none once it is time to stop.
    ///
    /// # Errors
    /// When the store is set up so that waiting does not mend it.
    pub async fn store(&self, bus: &Bus) -> Result<Option<Arc<dyn PlanStore>>, Error> {
        wiring::store(self, bus).await
    }

    /// Connects to both; none once it is time to stop.
    ///
    /// # Errors
    /// As [`Process::bus`] and [`Process::store`].
    pub async fn connect(self) -> Result<Option<Wiring>, Error> {
        let bus = self.bus().await?;
        let Some(store) = self.store(&bus).await? else {
            return Ok(None);
        };
        Ok(Some(Wiring::new(self, store, bus)))
    }
}

/// Runs a process that plays `role` until it is told to stop. Exit code 0; 2, with one sentence on standard error,
/// where the settings are wrong or `play` fails.
pub fn run<E, F>(role: &str, args: &Args, play: impl FnOnce(Process) -> F) -> ExitCode
where
    E: Into<Box<dyn StdError + Send + Sync>>,
    F: Future<Output = Result<(), E>>,
{
    let (config, warnings) = match settings::load(args) {
        Ok(loaded) => loaded,
        Err(code) => return code,
    };
    let node = config.node(role);
    let _telemetry = match settings::telemetry(&config, role, &node) {
        Ok(guard) => guard,
        Err(code) => return code,
    };
    for warning in &warnings {
        tracing::warn!(warning, "configuration");
    }
    match fault_point::arm() {
        Ok(Some(faults)) => tracing::warn!(faults, "fault points are armed"),
        Ok(None) => {}
        Err(error) => return settings::refuse(&error.to_string()),
    }
    block_on(async {
        let process = Process::new(config, node)?;
        play(process).await.map_err(|error| Error::Role(error.into()))
    })
}

/// As [`run`], for a role that works on tasks: health is served at once, and `play` begins once the store is there.
pub fn work<E, F>(role: &str, args: &Args, play: impl FnOnce(Wiring) -> F) -> ExitCode
where
    E: Into<Box<dyn StdError + Send + Sync>>,
    F: Future<Output = Result<(), E>>,
{
    run(role, args, |process| async move {
        let listen = process.config.listen_or("127.0.0.1:0").to_owned();
        let metrics = process.metrics.clone();
        let server = runtime::serve_health(&listen, process.health.clone(), move || metrics.render()).await?;
        if let Some(wiring) = process.connect().await? {
            play(wiring).await.map_err(|error| Error::Role(error.into()))?;
        }
        server.stop(CLOSE_LIMIT).await;
        Ok::<(), Error>(())
    })
}

/// Runs a process's future on a runtime of its own.
pub fn block_on<E>(future: impl Future<Output = Result<(), E>>) -> ExitCode
where
    E: Into<Box<dyn StdError + Send + Sync>>,
{
    // Traces and the http handler share one provider of cryptography; whoever comes first installs it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return settings::refuse(&format!("no runtime: {error}")),
    };
    match runtime.block_on(future) {
        Ok(()) => ExitCode::SUCCESS,
        // Said once: log lines go to standard error too.
        Err(error) => settings::refuse(&chain(&*error.into())),
    }
}
