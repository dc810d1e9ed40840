//! The connection: made lazily, kept for ever, with its streams in order.

use std::{sync::Arc, time::Duration};

use async_nats::{ConnectOptions, ServerAddr, connection, jetstream};
use tokio::task::JoinHandle;

use crate::{
    Config, Counts, Error, Publisher, State,
    client::{self, Client, JetStream},
    counts::Counters,
    error::SharedError,
    jitter,
    link::Link,
    server, streams,
    window::Window,
};

/// How often the state is compared with the client's, in case one of its events was missed.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Checks of the streams are at least this far apart, whatever is missed meanwhile.
const CHECKS_APART: Duration = Duration::from_millis(50);
/// A dead connection is noticed after two of these.
const PING_EVERY: Duration = Duration::from_secs(5);
/// Messages that wait in one subscription; what comes on top is dropped.
const SUBSCRIPTION_MESSAGES: usize = 4_096;

/// A process's connection to NATS. Cheap to clone; the connection ends with the last clone.
#[derive(Debug, Clone)]
pub struct Bus {
    pub(crate) core: Arc<Core>,
    _tasks: Arc<Tasks>,
}

/// What the bus and its background tasks share.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) client: Client,
    pub(crate) js: JetStream,
    pub(crate) config: Config,
    pub(crate) link: Arc<Link>,
    pub(crate) counters: Counters,
    pub(crate) window: Window,
}

#[derive(Debug)]
struct Tasks(Vec<JoinHandle<()>>);

impl Drop for Tasks {
    fn drop(&mut self) {
        for task in &self.0 {
            task.abort();
        }
    }
}

impl Bus {
    /// Starts to connect, and goes on trying for ever: a server that is absent now or later is waited for.
    ///
    /// # Errors
    /// Only a URL that can't be read.
    pub async fn connect(config: Config) -> Result<Self, Error> {
        let link = Arc::new(Link::new());
        let client = open(&config, &link).await?;
        let mut js = jetstream::new(client.clone());
        js.set_timeout(config.request_timeout);
        let (client, js) = client::real(client, js);
        Ok(Self::over(client, js, config, link))
    }

    pub(crate) fn over(client: Client, js: JetStream, config: Config, link: Arc<Link>) -> Self {
        let window = Window::new(&client, config.window, config.window_bytes);
        let core = Arc::new(Core {
            client,
            js,
            config,
            link,
            counters: Counters::default(),
            window,
        });
        let tasks = vec![
            tokio::spawn(tend(Arc::clone(&core))),
            tokio::spawn(crate::window::settle_acks(Arc::clone(&core))),
        ];
        Self {
            core,
            _tasks: Arc::new(Tasks(tasks)),
        }
    }

    /// Whether messages pass right now.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.core.link.ready_epoch().is_ok()
    }

    /// Whether messages pass, and if not why.
    #[must_use]
    pub fn state(&self) -> State {
        self.core.link.snapshot().state
    }

    /// Waits until messages pass; for ever where the server stays away.
    ///
    /// # Errors
    /// The server can't be used until somebody changes it or the configuration. Gengfu keeps looking, so that
    /// calling again is right where the process should outlive that.
    pub async fn wait_ready(&self) -> Result<(), SharedError> {
        let mut link = self.core.link.watch();
        let settled = link
            .wait_for(|now| matches!(now.state, State::Ready | State::Unusable(_)))
            .await;
        match settled.map(|now| now.state.clone()) {
            Ok(State::Unusable(error)) => Err(error),
            Ok(_) => Ok(()),
            Err(_) => Err(Arc::new(Error::NotReady)),
        }
    }

    /// Waits until the state is another than it was at the call, and returns it.
    pub async fn changed(&self) -> State {
        let mut link = self.core.link.watch();
        // The sender lives in `self`, so this cannot fail.
        let _ = link.changed().await;
        link.borrow().state.clone()
    }

    /// When the events stream was created, in milliseconds since the epoch; none before it was seen.
    /// If it differs from what a reader remembers, all events that were not read are gone.
    #[must_use]
    pub fn events_created_ms(&self) -> Option<i64> {
        Some(self.core.link.snapshot().events_created_ms).filter(|ms| *ms != 0)
    }

    /// What passed so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.core.counters.read(client::connects(&self.core.client))
    }

    /// Publishes over this connection.
    #[must_use]
    pub fn publisher(&self) -> Publisher {
        Publisher::new(self.clone())
    }

    /// Waits until everything handed over so far is on its way and acknowledged, at most `grace`.
    ///
    /// # Errors
    /// Something still waits for its acknowledgement.
    pub async fn flush(&self, grace: Duration) -> Result<(), Error> {
        let all = async {
            self.core.window.empty().await;
            self.core.client.flush().await
        };
        match tokio::time::timeout(grace, all).await {
            Ok(flushed) => flushed.map_err(|error| Error::client("flush", error)),
            Err(_) => Err(Error::Timeout(grace)),
        }
    }
}

async fn open(config: &Config, link: &Arc<Link>) -> Result<async_nats::Client, Error> {
    let servers: Vec<ServerAddr> = config
        .url
        .split(',')
        .map(|url| url.trim().parse())
        .collect::<Result<_, _>>()
        .map_err(Error::InvalidUrl)?;
    let link = Arc::clone(link);
    ConnectOptions::new()
        .name(&config.name)
        .retry_on_initial_connect()
        .max_reconnects(None)
        .reconnect_delay_callback(jitter::delay)
        .connection_timeout(Duration::from_secs(3))
        .request_timeout(Some(config.request_timeout))
        .ping_interval(PING_EVERY)
        .subscription_capacity(SUBSCRIPTION_MESSAGES)
        .event_callback(move |_| {
            link.wake.notify_one();
            std::future::ready(())
        })
        .connect(servers)
        .await
        .map_err(|error| Error::client("connect", error))
}

/// Keeps the link's state true, and the streams in order.
async fn tend(core: Arc<Core>) {
    let mut seen = Seen::default();
    let mut attempt = 0;
    loop {
        let fresh = seen.look(&core);
        let now = core.link.snapshot();
        let wait = match now.state {
            State::Away | State::Ready => LOOK_EVERY,
            State::Preparing(_) | State::Unusable(_) => {
                attempt = if fresh { 1 } else { attempt + 1 };
                match seen.while_connected(&core, prepare(&core)).await {
                    None => continue,
                    Some(Ok(created_ms)) => {
                        attempt = 0;
                        core.link.ready(now.epoch, created_ms);
                        CHECKS_APART
                    }
                    Some(Err(error)) => {
                        core.link.not_ready(now.epoch, error);
                        jitter::delay(attempt)
                    }
                }
            }
        };
        seen.log(&core.link.snapshot().state);
        tokio::select! {
            biased;
            () = core.link.wake.notified() => tokio::time::sleep(CHECKS_APART.min(wait)).await,
            () = tokio::time::sleep(wait) => {}
        }
    }
}

async fn prepare(core: &Core) -> Result<i64, Error> {
    let info = core.client.try_server_info().ok_or(Error::NotReady)?;
    server::check(&info, core.config.message_bytes)?;
    streams::ensure(&core.js, &core.config).await
}

/// What was seen of the connection, and what was logged of it.
#[derive(Default)]
struct Seen {
    connects: u64,
    logged: Option<String>,
}

impl Seen {
    /// Carries the client's state over to the link. True where the connection is a new one.
    fn look(&mut self, core: &Core) -> bool {
        let connects = client::connects(&core.client);
        let connected = core.client.connection_state() == connection::State::Connected;
        let fresh = connected && connects != self.connects;
        if fresh {
            self.connects = connects;
            core.link.connected();
            core.window.fail_all(core);
        } else if !connected && !matches!(core.link.snapshot().state, State::Away) {
            core.link.away();
            core.window.fail_all(core);
        }
        fresh
    }

    /// What comes of `checks`; none where the connection ends first: a server that is shut down still takes connections
    /// for a moment, and never answers on them.
    async fn while_connected<T>(&self, core: &Core, checks: impl Future<Output = T>) -> Option<T> {
        tokio::pin!(checks);
        loop {
            tokio::select! {
                biased;
                checked = &mut checks => return Some(checked),
                () = core.link.wake.notified() => {}
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
            let connects = client::connects(&core.client);
            let connected = core.client.connection_state() == connection::State::Connected;
            if !connected || connects != self.connects {
                return None;
            }
        }
    }

    /// One line for each reason, not one for each attempt; and only for reasons that a person may have to look into.
    /// That NATS is away or back is a line of whoever depends on it.
    fn log(&mut self, state: &State) {
        let text = match state {
            // Passes in a moment, or becomes one of the others.
            State::Preparing(None) => return,
            State::Ready | State::Away => None,
            State::Preparing(Some(_)) | State::Unusable(_) => state.reason(),
        };
        if self.logged == text {
            return;
        }
        match (state, &text) {
            (State::Unusable(_), Some(reason)) => tracing::error!(reason, "nats cannot be used"),
            (_, Some(reason)) => tracing::warn!(reason, "nats cannot be used yet"),
            (_, None) => {}
        }
        self.logged = text;
    }
}
