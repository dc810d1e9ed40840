//! A stream that is not the one of the kept position lost its events: those that nobody wrote down are announced
//! again, before the first page of the new stream is written.
//!
//! The new stream's creation time is kept only after that, so a crash in between starts it anew. It belongs to whoever
//! holds the partition, for a page written earlier would make the new stream look as if nothing were missing.

use domain::Partition;
use messaging::Position;

use crate::{
    Recorder,
    error::{Error, in_time},
};

/// From where to read, when the stream was created at `created_ms`.
pub(crate) async fn caught_up(
    recorder: &Recorder,
    partition: Partition,
    created_ms: i64,
) -> Result<Position, Error> {
    let store = &recorder.parts.store;
    let (epoch, position) = in_time(store.recorded(partition)).await?;
    if epoch == created_ms {
        return Ok(Position {
            stream_created_ms: epoch,
            stream_seq: position,
        });
    }
    let (mut cursor, mut events) = (0, 0);
    loop {
        let (found, next) = in_time(store.unrecorded(partition, cursor)).await?;
        events += found.len();
        if !found.is_empty() {
            recorder.parts.announcer.announce_again(partition, found).await?;
        }
        match next {
            Some(next) => cursor = next,
            None => break,
        }
    }
    if epoch != 0 || events > 0 {
        tracing::warn!(
            partition,
            events,
            "the events stream is another, unrecorded events announced again"
        );
    }
    in_time(store.record(partition, created_ms, 0, &[])).await?;
    Ok(Position {
        stream_created_ms: created_ms,
        stream_seq: 0,
    })
}
