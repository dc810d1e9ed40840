//! Sends spans by OTLP (HTTP, protobuf) from a thread of its own. It never holds a task up: where the queue is
//! full or the collector is away, spans are dropped and counted.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc as std_mpsc,
    },
    thread,
    time::Duration,
};

use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig};
use opentelemetry_sdk::{Resource, trace::SpanData, trace::SpanExporter as _};
use tokio::sync::{mpsc, oneshot};

use crate::{error::Error, span::TaskSpan};

/// Spans that may wait; about 1 KiB each.
const QUEUE_SPANS: usize = 8_192;
/// Spans of one request.
const BATCH_SPANS: usize = 512;
/// How long a batch that is not full waits for more.
const GATHER: Duration = Duration::from_millis(200);
/// Limit of one request, its retries included.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// Whom the spans come from and where they go.
#[derive(Debug, Clone, Default)]
pub(crate) struct Origin {
    pub(crate) endpoint: String,
    pub(crate) service_name: String,
    pub(crate) node: String,
}

/// Takes spans of tasks, and sends them in batches. Clones share one queue.
#[derive(Debug, Clone)]
pub struct Spans {
    queue: mpsc::Sender<Item>,
    counts: Arc<Counts>,
    scope: InstrumentationScope,
}

#[derive(Debug, Default)]
struct Counts {
    sent: AtomicU64,
    dropped: AtomicU64,
}

enum Item {
    Span(Box<SpanData>),
    Flush(oneshot::Sender<()>),
    Stop(std_mpsc::SyncSender<()>),
}

impl Spans {
    /// Starts the thread that sends to `endpoint`, the base address of a collector such as `http://host:4318`.
    ///
    /// # Errors
    /// When the endpoint is no http address, or no thread can be started.
    pub fn start(endpoint: &str, service_name: &str, node: &str) -> Result<Self, Error> {
        let origin = Origin {
            endpoint: endpoint.into(),
            service_name: service_name.into(),
            node: node.into(),
        };
        let exporter = exporter(&origin)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(Error::Thread)?;
        let (queue, waiting) = mpsc::channel(QUEUE_SPANS);
        let counts = Arc::new(Counts::default());
        let shared = Arc::clone(&counts);
        thread::Builder::new()
            .name("spans".into())
            .spawn(move || runtime.block_on(send_all(&exporter, waiting, &shared)))
            .map_err(Error::Thread)?;
        let scope = InstrumentationScope::builder("gengfu")
            .with_version(env!("CARGO_PKG_VERSION"))
            .build();
        Ok(Self { queue, counts, scope })
    }

    /// Queues a span, or drops and counts it where the queue is full. Never waits.
    pub fn record(&self, span: TaskSpan) {
        let data = Box::new(span.into_data(&self.scope));
        if self.queue.try_send(Item::Span(data)).is_err() {
            self.counts.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Spans dropped so far: the queue was full, or the collector didn't take them.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.counts.dropped.load(Ordering::Relaxed)
    }

    /// Spans that the collector took.
    #[must_use]
    pub fn sent(&self) -> u64 {
        self.counts.sent.load(Ordering::Relaxed)
    }

    /// Waits until all spans queued before have been sent or dropped, at most 10 s.
    pub async fn flush(&self) {
        let (done, wait) = oneshot::channel();
        let asked = self.queue.send_timeout(Item::Flush(done), REQUEST_TIMEOUT).await;
        if asked.is_ok() {
            let _ = tokio::time::timeout(REQUEST_TIMEOUT, wait).await;
        }
    }

    /// Sends what waits and ends the thread; blocks for at most 5 s.
    pub(crate) fn stop(&self) {
        let (done, wait) = std_mpsc::sync_channel(1);
        // A full queue means that the collector is away: then nothing is worth waiting for.
        if self.queue.try_send(Item::Stop(done)).is_ok() {
            let _ = wait.recv_timeout(REQUEST_TIMEOUT);
        }
    }
}

fn exporter(origin: &Origin) -> Result<SpanExporter, Error> {
    let base = origin.endpoint.trim_end_matches('/');
    if !base.starts_with("http://") && !base.starts_with("https://") {
        return Err(Error::Endpoint(base.to_owned()));
    }
    let endpoint = if base.ends_with("/v1/traces") {
        base.to_owned()
    } else {
        format!("{base}/v1/traces")
    };
    // The client asks for a provider of TLS as it is built; a second call changes nothing.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut exporter = SpanExporter::builder()
        .with_http()
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(endpoint)
        .with_timeout(REQUEST_TIMEOUT)
        .build()
        .map_err(|error| Error::Exporter(Box::new(error)))?;
    let resource = Resource::builder_empty()
        .with_attributes([
            KeyValue::new("service.name", origin.service_name.clone()),
            KeyValue::new("service.instance.id", origin.node.clone()),
            KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
        ])
        .build();
    exporter.set_resource(&resource);
    Ok(exporter)
}

/// Why a batch goes out.
enum Gathered {
    Due,
    Flushed(oneshot::Sender<()>),
    Stopped(Option<std_mpsc::SyncSender<()>>),
}

async fn send_all(exporter: &SpanExporter, mut waiting: mpsc::Receiver<Item>, counts: &Counts) {
    let mut batch = Vec::with_capacity(BATCH_SPANS);
    let mut failing = false;
    loop {
        let why = gather(&mut waiting, &mut batch).await;
        if !batch.is_empty() {
            failing = send(exporter, std::mem::take(&mut batch), counts, failing).await;
        }
        match why {
            Gathered::Due => {}
            // Who waited may have given up.
            Gathered::Flushed(done) => drop(done.send(())),
            Gathered::Stopped(done) => {
                let _ = done.map(|done| done.send(()));
                return;
            }
        }
    }
}

/// Fills the batch until it is full, its time is up, or somebody waits for it.
async fn gather(waiting: &mut mpsc::Receiver<Item>, batch: &mut Vec<SpanData>) -> Gathered {
    let mut next = waiting.recv().await;
    let until = tokio::time::Instant::now() + GATHER;
    loop {
        match next {
            Some(Item::Span(span)) => batch.push(*span),
            Some(Item::Flush(done)) => return Gathered::Flushed(done),
            Some(Item::Stop(done)) => return Gathered::Stopped(Some(done)),
            None => return Gathered::Stopped(None),
        }
        if batch.len() == BATCH_SPANS {
            return Gathered::Due;
        }
        match tokio::time::timeout_at(until, waiting.recv()).await {
            Ok(item) => next = item,
            Err(_) => return Gathered::Due,
        }
    }
}

/// Sends one batch and returns whether it failed; only the first of a row of failures is logged.
async fn send(exporter: &SpanExporter, batch: Vec<SpanData>, counts: &Counts, failing: bool) -> bool {
    let spans = batch.len() as u64;
    let sent = tokio::time::timeout(REQUEST_TIMEOUT, exporter.export(batch)).await;
    let error = match sent {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(error.to_string()),
        Err(_) => Some("no answer in time".to_owned()),
    };
    let counter = if error.is_some() {
        &counts.dropped
    } else {
        &counts.sent
    };
    counter.fetch_add(spans, Ordering::Relaxed);
    match &error {
        Some(error) if !failing => {
            tracing::warn!(%error, "spans are dropped, the collector does not take them")
        }
        None if failing => tracing::info!("spans are sent again"),
        Some(_) | None => {}
    }
    error.is_some()
}
