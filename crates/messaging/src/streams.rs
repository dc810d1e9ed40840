//! The four streams: what they should be, and how what is found becomes that.

use std::time::Duration;

use async_nats::jetstream::{
    Context, ErrorCode,
    context::{CreateStreamErrorKind, GetStreamErrorKind},
    stream::{Config as Stream, DiscardPolicy, Info, RetentionPolicy, StorageType},
};

use crate::{Config, Error, client::JetStream};

/// Submissions that wait to be admitted.
pub const SUBMIT: &str = "GENGFU_SUBMIT";
/// Hints that a queue is not empty any more.
pub const READY: &str = "GENGFU_READY";
/// Hints that tasks may be claimed.
pub const WORK: &str = "GENGFU_WORK";
/// What happened.
pub const EVENTS: &str = "GENGFU_EVENTS";

/// Creates or updates all streams.
///
/// Returns when the events stream was created, in milliseconds since the epoch: a reader whose position is older
/// than that has a position in a stream that is gone.
pub(crate) async fn ensure(js: &JetStream, config: &Config) -> Result<i64, Error> {
    #[cfg(feature = "memory")]
    let js = match js {
        JetStream::Nats(js) => js,
        JetStream::Memory(wire) => return Ok(wire.streams_created_ms()),
    };
    let mut created_ms = 0;
    for want in wanted(config) {
        let info = ensure_one(js, &want).await?;
        if want.name == EVENTS {
            let nanos = info.created.unix_timestamp_nanos();
            created_ms = i64::try_from(nanos / 1_000_000).unwrap_or(0);
        }
    }
    Ok(created_ms)
}

fn wanted(config: &Config) -> [Stream; 4] {
    let base = |name: &str, subject: &str| Stream {
        name: name.to_owned(),
        subjects: vec![subject.to_owned()],
        num_replicas: config.replicas,
        max_messages: -1,
        max_messages_per_subject: -1,
        max_consumers: -1,
        ..Stream::default()
    };
    let hints = |name, subject| Stream {
        retention: RetentionPolicy::WorkQueue,
        storage: StorageType::Memory,
        max_age: config.hint_age,
        max_bytes: config.hint_bytes,
        // An old hint is worth less than a new one.
        discard: DiscardPolicy::Old,
        ..base(name, subject)
    };
    [
        Stream {
            retention: RetentionPolicy::WorkQueue,
            storage: StorageType::File,
            max_bytes: config.submit_bytes,
            // A submission must never fall out unseen: a full stream tells its sender.
            discard: DiscardPolicy::New,
            ..base(SUBMIT, "gengfu.submit.*")
        },
        hints(READY, "gengfu.ready.*"),
        hints(WORK, "gengfu.work.*.*"),
        Stream {
            retention: RetentionPolicy::Limits,
            storage: StorageType::File,
            max_age: config.events_age,
            max_bytes: config.events_bytes,
            discard: DiscardPolicy::Old,
            ..base(EVENTS, "gengfu.events.*")
        },
    ]
}

async fn ensure_one(js: &Context, want: &Stream) -> Result<Info, Error> {
    match find(js, &want.name).await? {
        Some(info) => mend(js, info, want).await,
        None => match js.create_stream(want.clone()).await {
            Ok(stream) => Ok(stream.cached_info().clone()),
            // Another service created it at the same moment, by another configuration.
            Err(error) if is_taken(&error.kind()) => match find(js, &want.name).await? {
                Some(info) => mend(js, info, want).await,
                None => Err(Error::set_up(&want.name, error)),
            },
            Err(error) => Err(Error::set_up(&want.name, error)),
        },
    }
}

async fn find(js: &Context, name: &str) -> Result<Option<Info>, Error> {
    match js.get_stream(name).await {
        Ok(stream) => Ok(Some(stream.cached_info().clone())),
        Err(error) => match error.kind() {
            GetStreamErrorKind::JetStream(reason) if reason.error_code() == ErrorCode::STREAM_NOT_FOUND => {
                Ok(None)
            }
            _ => Err(Error::set_up(name, error)),
        },
    }
}

async fn mend(js: &Context, info: Info, want: &Stream) -> Result<Info, Error> {
    match reconcile(&info.config, want)? {
        None => Ok(info),
        Some(merged) => {
            tracing::info!(stream = want.name, "stream updated to the configuration");
            js.update_stream(&merged)
                .await
                .map_err(|error| Error::set_up(&want.name, error))
        }
    }
}

fn is_taken(kind: &CreateStreamErrorKind) -> bool {
    matches!(kind, CreateStreamErrorKind::JetStream(reason)
        if reason.error_code() == ErrorCode::STREAM_NAME_EXIST)
}

/// What a stream has to be updated to, if to anything. Settings that we have no opinion on stay as they are.
fn reconcile(have: &Stream, want: &Stream) -> Result<Option<Stream>, Error> {
    let drift = |setting, have: String, want_value: String| Error::Drift {
        stream: want.name.clone(),
        setting,
        have,
        want: want_value,
    };
    if have.retention != want.retention {
        return Err(drift("retention", word(have.retention), word(want.retention)));
    }
    if have.storage != want.storage {
        return Err(drift("storage", word(have.storage), word(want.storage)));
    }
    let merged = Stream {
        subjects: want.subjects.clone(),
        discard: want.discard,
        max_age: want.max_age,
        max_bytes: want.max_bytes,
        num_replicas: want.num_replicas,
        no_ack: false,
        duplicate_window: within(have.duplicate_window, want.max_age),
        ..have.clone()
    };
    Ok((merged != *have).then_some(merged))
}

/// The window of duplicates may not be longer than messages live; 0 is for ever.
fn within(window: Duration, max_age: Duration) -> Duration {
    if max_age.is_zero() {
        window
    } else {
        window.min(max_age)
    }
}

fn word(value: impl std::fmt::Debug) -> String {
    format!("{value:?}").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_as_wanted_stays() {
        for want in wanted(&Config::default()) {
            let found = Stream {
                description: Some("somebody's note".into()),
                duplicate_window: Duration::from_secs(10),
                ..want.clone()
            };
            assert!(reconcile(&found, &want).unwrap().is_none(), "{}", want.name);
        }
    }

    #[test]
    fn what_can_be_mended_is_and_the_rest_is_kept() {
        let [submit, ..] = wanted(&Config::default());
        let found = Stream {
            max_bytes: 5,
            discard: DiscardPolicy::Old,
            description: Some("somebody's note".into()),
            ..submit.clone()
        };
        let merged = reconcile(&found, &submit).unwrap().unwrap();
        assert_eq!(
            (merged.max_bytes, merged.discard),
            (submit.max_bytes, DiscardPolicy::New)
        );
        assert_eq!(merged.description, found.description);
    }

    #[test]
    fn what_cannot_be_mended_is_an_error_that_names_it() {
        let [_, _, work, events] = wanted(&Config::default());
        let found = Stream {
            storage: StorageType::File,
            ..work.clone()
        };
        let text = reconcile(&found, &work).unwrap_err().to_string();
        assert!(text.starts_with("stream GENGFU_WORK has storage file, but memory is configured"));
        let found = Stream {
            retention: RetentionPolicy::Interest,
            ..events.clone()
        };
        assert!(matches!(
            reconcile(&found, &events),
            Err(Error::Drift {
                setting: "retention",
                ..
            })
        ));
    }

    #[test]
    fn hints_that_live_shorter_keep_a_shorter_window_of_duplicates() {
        assert_eq!(
            within(Duration::from_secs(120), Duration::from_secs(10)),
            Duration::from_secs(10)
        );
        assert_eq!(
            within(Duration::from_secs(120), Duration::ZERO),
            Duration::from_secs(120)
        );
    }
}
