//! Whole files against a real gateway, on the store in memory.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use domain::TaskId;
use gateway::{Gateway, Parts};
use messaging::Bus;
use runtime::{Config, Health, Shutdown};
use serde_json::Value;
use store::{Clock, Model, PlanStore};
use telemetry::Metrics;
use tokio::task::JoinHandle;

use super::send::{Sent, send};
use super::*;
use crate::client::Global;

const BATCH: &str = "0192f0c1-2d3e-7abc-8def-0123456789ab";

struct Town {
    client: Client,
    shutdown: Shutdown,
    running: JoinHandle<Result<(), gateway::Error>>,
}

impl Drop for Town {
    fn drop(&mut self) {
        self.shutdown.trigger();
        self.running.abort();
    }
}

impl Town {
    async fn start() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        // Nothing listens on port 1: without NATS tasks are accepted all the same.
        let away = messaging::Config {
            url: "nats://127.0.0.1:1".into(),
            ..messaging::Config::default()
        };
        let bus = Bus::connect(away).await.unwrap();
        let parts = Parts {
            bus,
            metrics: Metrics::new(),
            health: Health::new(),
            node: "test".into(),
        };
        let config = Config {
            listen: "127.0.0.1:0".into(),
            ..Config::default()
        };
        let gateway = Gateway::bind(&config, parts).await.unwrap();
        let client = Client::new(&Global::at(&format!("http://{}", gateway.address()))).unwrap();
        let store: Arc<dyn PlanStore> = Arc::new(Model::new(4, Clock::real()));
        let shutdown = Shutdown::new();
        let running = tokio::spawn(gateway.run(std::future::ready(Some(store)), shutdown.clone()));
        let town = Self {
            client,
            shutdown,
            running,
        };
        town.client.get_patiently("/types").await.unwrap();
        let types =
            r#"{"types":[{"name":"t","handler":"echo","backoff":{"base":"1s","factor":3,"cap":"9s"}}]}"#;
        town.client.post("/apply", types.into()).await.unwrap();
        town
    }

    async fn send(&self, name: &str, text: &str) -> anyhow::Result<Sent> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join(name);
        std::fs::File::create(&path)?.write_all(text.as_bytes())?;
        let spec: TypeSpec = serde_json::from_value(self.client.get("/types/t", &[]).await?)?;
        let plan = Plan {
            source: Source::open(Path::new(&path), "utf-8")?,
            how: plan::Rows::new(if name.ends_with(".csv") {
                Format::Csv
            } else {
                Format::Jsonl
            }),
            known: KnownType::new(spec)?,
            batch: BATCH.parse::<TaskId>()?,
        };
        send(&plan, &self.client, &ProgressBar::hidden()).await
    }

    async fn counts(&self) -> (Value, Value, Value) {
        let shown = self.client.get(&format!("/batches/{BATCH}"), &[]).await.unwrap();
        (
            shown["total"].clone(),
            shown["counts"]["pending"].clone(),
            shown["counts"]["dead"].clone(),
        )
    }
}

#[tokio::test]
async fn more_rows_than_a_request_holds_are_stored_once_however_often_they_are_sent() {
    let town = Town::start().await;
    let text = (0..1_201).fold("n\n".to_owned(), |text, n| format!("{text}{n}\n"));
    let all = Sent {
        submitted: 1_201,
        rejected: 0,
    };
    assert_eq!(town.send("rows.csv", &text).await.unwrap(), all);
    assert_eq!(town.send("rows.csv", &text).await.unwrap(), all);
    assert_eq!(town.counts().await, (json!(1_201), json!(1_201), json!(0)));
}

#[tokio::test]
async fn what_the_gateway_finds_too_large_is_a_rejected_row() {
    let town = Town::start().await;
    let large = "x".repeat(300_000);
    let text = format!("{{\"n\":1}}\n{{\"n\":\"{large}\"}}\n{{\"n\":2,\n{{\"n\":3}}\n");
    let sent = town.send("rows.jsonl", &text).await.unwrap();
    assert_eq!(
        sent,
        Sent {
            submitted: 2,
            rejected: 2
        }
    );
    assert_eq!(town.counts().await, (json!(4), json!(2), json!(2)));
    let dead = town.client.get("/dead", &[]).await.unwrap();
    let errors = dead["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| task["error"].as_str().unwrap());
    let mut errors: Vec<Value> = errors.map(|text| serde_json::from_str(text).unwrap()).collect();
    errors.sort_by_key(|error| error["line"].as_u64());
    assert_eq!((&errors[0]["line"], &errors[1]["line"]), (&json!(2), &json!(3)));
    assert!(
        errors[0]["reason"].as_str().unwrap().contains("300008 bytes"),
        "{errors:?}"
    );
    assert!(
        errors[1]["reason"].as_str().unwrap().contains("no JSON"),
        "{errors:?}"
    );
}

#[tokio::test]
async fn a_file_that_changed_is_not_resumed() {
    let town = Town::start().await;
    town.send("rows.csv", "n\n1\n2\n").await.unwrap();
    let error = format!("{:#}", town.send("rows.csv", "n\n1\n3\n").await.unwrap_err());
    assert!(error.contains("line 3") && error.contains(BATCH), "{error}");
    assert_eq!(town.counts().await.0, json!(2));
}

#[tokio::test]
async fn a_refusal_of_the_whole_request_is_told_at_once() {
    let town = Town::start().await;
    let error = town
        .client
        .post("/tasks:batch", b"{\"tasks\":[{\"nope\":1}]}".to_vec())
        .await
        .unwrap_err();
    assert!(
        !crate::client::is_passing(&error) && error.to_string().contains("tasks[0].nope"),
        "{error}"
    );
}
