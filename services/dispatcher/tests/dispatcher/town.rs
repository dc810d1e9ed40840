//! A store, a server and a dispatcher of one test.

use std::{sync::Arc, time::Duration};

use admission::{Limits, Types};
use domain::{Partition, Tier};
use gengfu_integration_tests::NatsServer;
use messaging::{Announcer, Bus, Config, EventPuller, Position};
use proto::{Refused, Submission};
use runtime::Shutdown;
use store::{Clock, Listed, Model, Page, TaskFilter, TaskStore};
use telemetry::Metrics;
use tokio::task::JoinHandle;

pub(crate) const PARTITIONS: u16 = 4;
/// Longest wait for anything.
pub(crate) const SOON: Duration = Duration::from_secs(20);

pub(crate) struct Town {
    pub(crate) nats: NatsServer,
    pub(crate) store: Arc<Model>,
    pub(crate) bus: Bus,
    shutdown: Shutdown,
    run: JoinHandle<()>,
}

impl Town {
    /// A dispatcher that knows one type, `say`, which asks for a text.
    pub(crate) async fn start() -> Self {
        let nats = NatsServer::start_new().unwrap();
        let bus = Bus::connect(Config {
            url: nats.url(),
            ..Config::default()
        })
        .await
        .unwrap();
        bus.wait_ready().await.unwrap();
        let store = Arc::new(Model::new(PARTITIONS, Clock::real()));
        let say = serde_json::json!({
            "name": "say", "handler": "echo",
            "input_schema": {"type": "object", "required": ["text"]},
        });
        store
            .put_types(&[serde_json::from_value(say).unwrap()])
            .await
            .unwrap();
        let (metrics, shutdown) = (Metrics::new(), Shutdown::new());
        let shared: Arc<dyn TaskStore> = store.clone();
        let parts = dispatcher::Parts {
            announcer: Announcer::new(Arc::clone(&shared), bus.publisher(), metrics.clone(), "d"),
            types: Types::new(Arc::clone(&shared)),
            store: shared,
            bus: bus.clone(),
            metrics,
        };
        let config = dispatcher::Config {
            id: "d".into(),
            node: "d".into(),
            window: Duration::from_millis(20),
            limits: Limits::default(),
        };
        let run = tokio::spawn(dispatcher::run(config, parts, shutdown.clone()));
        Self {
            nats,
            store,
            bus,
            shutdown,
            run,
        }
    }

    pub(crate) async fn stop(self) {
        self.shutdown.trigger();
        tokio::time::timeout(SOON, self.run).await.unwrap().unwrap();
    }

    /// Publishes a submission as any client does; the stream has it.
    pub(crate) async fn submit(&self, submission: &Submission) {
        let publisher = self.bus.publisher();
        publisher
            .submit(Tier::Normal, submission)
            .await
            .unwrap()
            .await
            .unwrap();
    }

    /// Publishes these very bytes; the stream has them.
    pub(crate) fn publish(&self, bytes: &[u8]) {
        let acked = self.nats.request("gengfu.submit.normal", bytes).unwrap();
        assert!(acked.contains("GENGFU_SUBMIT"), "{acked}");
    }

    /// Submissions that are not ended yet.
    pub(crate) fn waiting(&self) -> u64 {
        let info = self
            .nats
            .request("$JS.API.STREAM.INFO.GENGFU_SUBMIT", b"")
            .unwrap();
        let info: serde_json::Value = serde_json::from_str(&info).unwrap();
        info["state"]["messages"].as_u64().unwrap()
    }

    pub(crate) async fn tasks(&self) -> Listed {
        let page = Page {
            limit: 100,
            cursor: None,
        };
        self.store.list(&TaskFilter::default(), &page).await.unwrap()
    }

    /// Reads the refusals of all partitions, from the start of the stream.
    pub(crate) fn refusals(&self) -> Refusals {
        let read = |partition| (partition, self.bus.events(partition, Position::default()));
        Refusals((0..PARTITIONS).map(read).collect())
    }
}

pub(crate) struct Refusals(Vec<(Partition, EventPuller)>);

impl Refusals {
    /// The next refusal of any partition.
    pub(crate) async fn next(&mut self) -> (Partition, Refused) {
        let look = async {
            loop {
                for (partition, puller) in &mut self.0 {
                    let next = tokio::time::timeout(Duration::from_millis(10), puller.next_batch(1));
                    let messages = next.await.unwrap_or_default();
                    let entries = messages.into_iter().flat_map(|message| message.batch.entries);
                    if let Some(refused) = entries.flat_map(|entry| entry.refused).next() {
                        return (*partition, refused);
                    }
                }
            }
        };
        tokio::time::timeout(SOON, look).await.unwrap()
    }
}
