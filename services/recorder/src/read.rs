//! Reads one partition: pages of events, written and then acknowledged, until the partition goes to another.

use std::{sync::Arc, time::Duration};

use domain::Partition;
use messaging::{EventMessage, EventPuller};
use runtime::{Backoff, Shutdown};

use crate::{
    Page, Recorder,
    archive::ArchiveError,
    error::{Error, chain},
    page::pages,
    reannounce::caught_up,
    spans,
};

/// Messages taken at once.
const MESSAGES: usize = 32;
/// How often it is looked whether the stream is still the same.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Limit of one write.
const WRITE_LIMIT: Duration = Duration::from_secs(10);

/// Records a partition until `stop`.
pub(crate) async fn read(recorder: Arc<Recorder>, partition: Partition, stop: Shutdown) {
    let mut backoff = Backoff::default();
    let mut failing = false;
    while !stop.is_triggered() {
        match stop.or_stop(start(&recorder, partition)).await {
            Some(Ok(reader)) => {
                failing = false;
                backoff.reset();
                follow(&recorder, partition, reader, &stop).await;
            }
            Some(Err(error)) => {
                if !error.is_passing() && !failing {
                    failing = true;
                    tracing::error!(partition, error = chain(&error), "a partition can't be recorded");
                }
                if stop
                    .or_stop(tokio::time::sleep(backoff.next_wait()))
                    .await
                    .is_none()
                {
                    return;
                }
            }
            None => return,
        }
    }
}

/// Waits for the stream and goes to the place where the last page ended.
async fn start(recorder: &Recorder, partition: Partition) -> Result<Reader, Error> {
    let bus = &recorder.parts.bus;
    let created_ms = loop {
        match bus.events_created_ms() {
            Some(created_ms) if bus.is_ready() => break created_ms,
            // The first look may come before the change is waited for.
            _ => drop(tokio::time::timeout(LOOK_EVERY, bus.changed()).await),
        }
    };
    let position = caught_up(recorder, partition, created_ms).await?;
    Ok(Reader {
        epoch: created_ms,
        puller: bus.events(partition, position),
    })
}

/// A reader of one stream.
struct Reader {
    epoch: i64,
    puller: EventPuller,
}

/// Writes page by page until `stop`, or until the stream is another.
async fn follow(recorder: &Recorder, partition: Partition, mut reader: Reader, stop: &Shutdown) {
    let mut look = tokio::time::interval(LOOK_EVERY);
    loop {
        let messages = tokio::select! {
            biased;
            () = stop.wait() => return,
            _ = look.tick() => {
                if recorder.parts.bus.events_created_ms() != Some(reader.epoch) {
                    return;
                }
                continue;
            }
            messages = reader.puller.next_batch(MESSAGES) => messages,
        };
        if messages
            .iter()
            .any(|message| message.position.stream_created_ms != reader.epoch)
        {
            return;
        }
        for (page, last) in pages(partition, messages) {
            if !write(recorder, &page, &last, stop).await {
                return;
            }
        }
    }
}

/// Writes a page, however often that takes, and tells the stream; false where it is time to stop before that.
async fn write(recorder: &Recorder, page: &Page, last: &EventMessage, stop: &Shutdown) -> bool {
    let began_us = runtime::clock::now_us();
    let mut backoff = Backoff::default();
    let mut failing = false;
    let recorded = loop {
        match written(recorder, page).await {
            Ok(recorded) => break recorded,
            Err(error) if !error.passing && !failing => {
                failing = true;
                let position = page.position;
                tracing::error!(
                    partition = page.partition,
                    position,
                    error = chain(&error),
                    "a page can't be written"
                );
            }
            Err(_) => {}
        }
        if stop
            .or_stop(tokio::time::sleep(backoff.next_wait()))
            .await
            .is_none()
        {
            return false;
        }
    };
    tracing::debug!(
        partition = page.partition,
        position = page.position,
        fresh = recorded.fresh,
        repeated = recorded.repeated,
        behind = last.behind,
        "recorded"
    );
    // Only the lag that the server shows depends on it; the position is the store's.
    let _ = last.ack().await;
    if recorded.fresh > 0 {
        spans::record(&*recorder.parts.store, page, began_us).await;
    }
    true
}

async fn written(recorder: &Recorder, page: &Page) -> Result<store::Recorded, ArchiveError> {
    match tokio::time::timeout(WRITE_LIMIT, recorder.parts.archive.write(page)).await {
        Ok(written) => written,
        Err(late) => Err(ArchiveError {
            passing: true,
            source: Box::new(late),
        }),
    }
}
