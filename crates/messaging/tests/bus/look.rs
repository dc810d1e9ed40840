//! What is asked and looked at by the watchman's tools.

use std::time::Duration;

use anyhow::{Context, Result};
use proto::{ProbeReply, ProbeRequest, Vitals};

use crate::nats::Nats;

const SOON: Duration = Duration::from_secs(20);

#[tokio::test]
async fn a_question_reaches_the_executor_that_it_names() -> Result<()> {
    let nats = Nats::start()?;
    let (here, there) = (nats.bus().await?, nats.bus().await?);
    let asked = ProbeRequest {
        task_id: vec![7; 16].into(),
    };
    let nobody = there.probe("node.a 1", &asked, SOON).await;
    assert!(
        matches!(nobody, Err(messaging::Error::NoResponders(_))),
        "{nobody:?}"
    );
    let mut questions = here.probe_questions("node.a 1").await?;
    let answering = tokio::spawn(async move {
        let question = questions.next().await.context("a question")?;
        assert_eq!(question.asked.task_id, vec![7; 16]);
        let reply = ProbeReply {
            running: true,
            phase: "connect".into(),
            ..ProbeReply::default()
        };
        question.answer(&reply).await?;
        anyhow::Ok(())
    });
    let reply = tokio::time::timeout(SOON, async {
        loop {
            match there.probe("node.a 1", &asked, SOON).await {
                // The server has not heard of the subscription yet.
                Err(messaging::Error::NoResponders(_)) => tokio::task::yield_now().await,
                reply => break reply,
            }
        }
    })
    .await??;
    assert_eq!((reply.running, reply.phase.as_str()), (true, "connect"));
    answering.await??;
    let other = there.probe("node.a 2", &asked, SOON).await;
    assert!(
        matches!(other, Err(messaging::Error::NoResponders(_))),
        "{other:?}"
    );
    Ok(())
}

#[tokio::test]
async fn everybody_is_asked_and_nobody_is_no_answer() -> Result<()> {
    let nats = Nats::start()?;
    let bus = nats.bus().await?;
    let short = Duration::from_millis(200);
    assert_eq!(bus.gather_vitals(short, 10).await?, []);
    for pid in [1, 2, 3] {
        let mut questions = bus.vitals_questions().await?;
        tokio::spawn(async move {
            while let Some(question) = questions.next().await {
                let vitals = Vitals {
                    pid,
                    ..Vitals::default()
                };
                if question.answer(&vitals).await.is_err() {
                    return;
                }
            }
        });
    }
    bus.flush(SOON).await?;
    let mut pids: Vec<_> = bus
        .gather_vitals(SOON, 3)
        .await?
        .iter()
        .map(|one| one.pid)
        .collect();
    pids.sort_unstable();
    assert_eq!(pids, [1, 2, 3]);
    assert_eq!(
        bus.gather_vitals(SOON, 2).await?.len(),
        2,
        "no more than asked for"
    );
    Ok(())
}

#[tokio::test]
async fn the_server_tells_how_it_stands() -> Result<()> {
    let nats = Nats::start()?;
    let facts = nats.bus().await?.facts().await?;
    assert!(facts.version.starts_with('2'), "{facts:?}");
    assert!(facts.max_payload >= facts.message_bytes);
    let names: Vec<_> = facts.streams.iter().map(|stream| stream.name).collect();
    assert_eq!(
        names,
        ["GENGFU_SUBMIT", "GENGFU_READY", "GENGFU_WORK", "GENGFU_EVENTS"]
    );
    assert!(
        facts.streams.iter().all(|stream| stream.first_ms == 0),
        "{facts:?}"
    );
    Ok(())
}

#[tokio::test]
async fn the_log_of_a_partition_is_read_to_its_end_and_from_a_place_on() -> Result<()> {
    let nats = Nats::start()?;
    let bus = nats.bus().await?;
    let publisher = bus.publisher();
    for number in 0..40_u32 {
        for partition in [3, 4] {
            let refused = proto::Refused {
                reason: number.to_string(),
                source: format!("{partition}-{number}"),
                ..proto::Refused::default()
            };
            publisher.publish_refused(partition, refused).await?;
        }
    }
    let read = async |seq| {
        let mut log = bus.event_log(3, seq, None).await?;
        let mut seen = Vec::new();
        loop {
            let batch = log.next_batch().await?;
            if batch.is_empty() {
                return anyhow::Ok(seen);
            }
            seen.extend(batch);
        }
    };
    let all = read(0).await?;
    let ids = all.iter().map(|one| {
        one.batch
            .as_ref()
            .map(|batch| batch.entries[0].refused[0].reason.clone())
    });
    assert_eq!(
        ids.flatten().collect::<Vec<_>>(),
        (0..40).map(|n: u32| n.to_string()).collect::<Vec<_>>()
    );
    assert!(all.iter().all(|one| one.stored_ms > 1_700_000_000_000));
    assert_eq!(read(all[37].seq + 1).await?.len(), 2);
    let span = bus.events_span().await?;
    assert_eq!((span.first_seq, span.last_seq, span.messages), (1, 80, 80));
    assert_eq!(bus.event_log(5, 0, None).await?.next_batch().await?.len(), 0);
    let later = bus
        .event_log(3, 0, Some(span.first_ms + 3_600_000))
        .await?
        .next_batch()
        .await?;
    assert_eq!(later.len(), 0);
    Ok(())
}
