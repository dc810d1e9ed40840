//! The announcer between a store and a real nats-server.

#![allow(clippy::unwrap_used)]

// Every other crate knows it by this name.
extern crate gengfu_messaging as messaging;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use domain::{TaskId, Tier};
use gengfu_integration_tests::{NatsServer, eventually};
use messaging::{Announcer, Bus, Config, Position, event_from_wire};
use store::{Clock, Model, NewTask, Origin, OutboxEntry, TaskEvent, TaskStore};
use telemetry::Metrics;

const NOW: i64 = 1_764_460_800_000;
const GRACE: Duration = Duration::from_secs(10);

struct Town {
    nats: NatsServer,
    store: Arc<Model>,
    bus: Bus,
    metrics: Metrics,
    announcer: Announcer,
}

impl Town {
    /// With a server that runs, and a bus that is ready.
    async fn new() -> Self {
        let nats = NatsServer::start_new().unwrap();
        let bus = Bus::connect(Config {
            url: nats.url(),
            ..Config::default()
        })
        .await
        .unwrap();
        bus.wait_ready().await.unwrap();
        let store = Arc::new(Model::new(4, Clock::standing(NOW)));
        let metrics = Metrics::new();
        let announcer = Announcer::new(store.clone(), bus.publisher(), metrics.clone(), "here");
        Self {
            nats,
            store,
            bus,
            metrics,
            announcer,
        }
    }

    /// Admits a task into partition 0; its entry stays in the outbox.
    async fn admit(&self, number: u8) -> OutboxEntry {
        let origin = Origin::default();
        let reply = self
            .store
            .admit(0, [number; 16], &origin, &[task(number)])
            .await
            .unwrap();
        reply.outbox.unwrap()
    }

    async fn left(&self) -> u64 {
        self.store.stats(0).await.unwrap().outbox
    }

    /// The first `count` events of the stream.
    async fn events(&self, count: usize) -> Vec<TaskEvent> {
        let mut puller = self.bus.events(0, Position::default());
        let mut events = Vec::new();
        while events.len() < count {
            let batch = tokio::time::timeout(GRACE, puller.next_batch(64)).await.unwrap();
            let entries = batch.into_iter().flat_map(|message| message.batch.entries);
            events.extend(
                entries
                    .flat_map(|entry| entry.events)
                    .map(|event| event_from_wire(event).unwrap()),
            );
        }
        events
    }
}

/// What of an event goes over the wire.
fn sent(mut event: TaskEvent) -> TaskEvent {
    (event.max_retry, event.delay_ms) = (0, 0);
    event
}

fn task(number: u8) -> NewTask {
    NewTask {
        id: TaskId::new(NOW, [number, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        task_type: "a.b".into(),
        pool: "default".into(),
        tier: Tier::Normal,
        payload: Bytes::from_static(b"{}"),
        payload_sha256: [number; 32],
        idempotency_key: String::new(),
        key_window_ms: 0,
        delay_ms: 0,
        at: 0,
        expire_after_ms: 0,
        max_retry: 1,
        max_lost: 3,
        run_timeout_ms: 1_000,
        schedule_id: String::new(),
        planned_at: 0,
        batch_id: None,
        batch_row: 0,
        parent_id: None,
        sampled: true,
        trace_link: String::new(),
        rejected: (number == 9).then(|| "row 9 has no name".to_owned()),
        direct: false,
    }
}

#[tokio::test]
async fn what_a_verb_did_reaches_the_stream_and_leaves_the_outbox() {
    let town = Town::new().await;
    let mut expected = Vec::new();
    for number in [1, 2, 9] {
        let entry = town.admit(number).await;
        expected.extend(entry.events.iter().cloned().map(sent));
        town.announcer.announce(Some(entry));
    }
    town.announcer.announce(None);
    assert_eq!(town.events(3).await, expected);
    assert!(town.announcer.flush(GRACE).await);
    assert_eq!((town.left().await, town.announcer.counts().removed), (0, 3));
    let shown = town.metrics.render();
    assert!(
        shown.contains(r#"gengfu_tasks_total{type="a.b",status="dead"} 1"#),
        "{shown}"
    );
}

#[tokio::test]
async fn the_same_entry_stands_in_the_stream_once() {
    let town = Town::new().await;
    let (first, second) = (town.admit(1).await, town.admit(2).await);
    for _ in 0..2 {
        let taken = town.announcer.republish(vec![first.clone()]).await.unwrap();
        assert_eq!(taken[&0], std::slice::from_ref(&first.id));
    }
    town.announcer.republish(vec![second.clone()]).await.unwrap();
    let expected: Vec<_> = [first, second]
        .into_iter()
        .flat_map(|entry| entry.events)
        .map(sent)
        .collect();
    assert_eq!(town.events(2).await, expected);
}

#[tokio::test]
async fn without_nats_nobody_waits_and_the_entry_stays_for_the_sweep() {
    let mut town = Town::new().await;
    town.nats.kill();
    eventually!(!town.bus.is_ready());
    let entry = town.admit(1).await;
    town.announcer.announce(Some(entry.clone()));
    assert!(town.announcer.flush(GRACE).await);
    assert_eq!((town.left().await, town.announcer.counts().unpublished), (1, 1));
    assert!(town.announcer.republish(vec![entry.clone()]).await.is_err());

    town.nats.start().unwrap();
    town.bus.wait_ready().await.unwrap();
    let taken = town.announcer.republish(vec![entry]).await.unwrap();
    town.store.outbox_remove(0, &taken[&0]).await.unwrap();
    assert_eq!((town.left().await, town.events(1).await.len()), (0, 1));
}
