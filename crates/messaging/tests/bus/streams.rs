//! Streams that exist already.

use std::time::Duration;

use anyhow::Result;
use async_nats::jetstream::stream::{Config as Stream, RetentionPolicy, StorageType};
use messaging::{Bus, Config, Error, streams};

use crate::nats::{Nats, eventually, within};

fn work_stream() -> Stream {
    Stream {
        name: streams::WORK.into(),
        subjects: vec!["gengfu.work.*.*".into()],
        retention: RetentionPolicy::WorkQueue,
        storage: StorageType::Memory,
        ..Stream::default()
    }
}

#[tokio::test]
async fn a_drift_that_may_not_be_mended_is_an_error_until_somebody_mends_it() -> Result<()> {
    let nats = Nats::start()?;
    let js = nats.bare().await?;
    js.create_stream(Stream {
        storage: StorageType::File,
        ..work_stream()
    })
    .await?;

    let bus = Bus::connect(nats.config()).await?;
    let error = within(bus.wait_ready()).await?.unwrap_err();
    let Error::Drift {
        stream,
        setting,
        have,
        want,
    } = &*error
    else {
        panic!("{error}")
    };
    assert_eq!(
        [stream, *setting, have, want],
        [streams::WORK, "storage", "file", "memory"]
    );
    assert!(!bus.is_ready());

    js.delete_stream(streams::WORK).await?;
    within(async {
        while bus.wait_ready().await.is_err() {
            bus.changed().await;
        }
    })
    .await?;
    assert!(bus.is_ready());
    Ok(())
}

#[tokio::test]
async fn a_drift_that_can_be_mended_is() -> Result<()> {
    let nats = Nats::start()?;
    let js = nats.bare().await?;
    let old = Stream {
        max_age: Duration::from_secs(999),
        description: Some("somebody's note".into()),
        ..work_stream()
    };
    js.create_stream(old).await?;
    let _bus = nats.bus().await?;
    let found = js.get_stream(streams::WORK).await?.cached_info().config.clone();
    assert_eq!(found.max_age, Config::default().hint_age);
    assert_eq!(found.description.as_deref(), Some("somebody's note"));
    Ok(())
}

#[tokio::test]
async fn many_services_may_start_at_once_and_again() -> Result<()> {
    let nats = Nats::start()?;
    let config = nats.config();
    let buses = futures::future::try_join_all((0..8).map(|_| Bus::connect(config.clone()))).await?;
    for bus in &buses {
        within(bus.wait_ready()).await??;
    }
    let created = buses[0].events_created_ms();
    let again = nats.bus().await?;
    assert!(created.is_some() && again.events_created_ms() == created);
    Ok(())
}

#[tokio::test]
async fn hints_do_not_outlive_the_dispatch_lease() -> Result<()> {
    let nats = Nats::start()?;
    let bus = crate::nats::ready(Config {
        hint_age: Duration::from_millis(500),
        ..nats.config()
    })
    .await?;
    bus.publisher().publish_work(&crate::work::hint(3, 1)).await?;
    let js = nats.bare().await?;
    eventually(async || {
        let mut stream = js.get_stream(streams::WORK).await.ok()?;
        let state = &stream.info().await.ok()?.state;
        (state.last_sequence == 1 && state.messages == 0).then_some(())
    })
    .await
}
