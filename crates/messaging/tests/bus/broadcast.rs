//! Slot reports and nudges.

use anyhow::Result;
use domain::TaskId;
use messaging::{Bus, Error};
use proto::{SlotReport, nudge::About};

use crate::nats::{Nats, within};

fn report(free: u32) -> SlotReport {
    SlotReport {
        executor_id: "node.a-1".into(),
        pool: "default".into(),
        slots: 32,
        free,
        ..SlotReport::default()
    }
}

#[tokio::test]
async fn reports_of_all_pools_arrive_before_and_after_a_restart() -> Result<()> {
    let mut nats = Nats::start()?;
    let bus = nats.bus().await?;
    let mut reports = bus.slot_reports().await?;
    bus.report_slots(&report(1)).await?;
    assert_eq!(within(reports.next()).await?, Some(report(1)));

    nats.kill();
    nats.start_again()?;
    within(async {
        while bus.counts().connects < 2 || !bus.is_ready() {
            bus.changed().await;
        }
    })
    .await?;
    let other = SlotReport {
        pool: "gpu".into(),
        ..report(2)
    };
    bus.report_slots(&other).await?;
    assert_eq!(within(reports.next()).await?, Some(other));
    Ok(())
}

#[tokio::test]
async fn a_nudge_to_stop_reaches_only_its_executor() -> Result<()> {
    let nats = Nats::start()?;
    let bus = nats.bus().await?;
    let (mut mine, mut other) = (
        bus.stop_nudges("node.a-1").await?,
        bus.stop_nudges("node.a-2").await?,
    );
    let (first, second) = (TaskId::new(1, [1; 10]), TaskId::new(2, [2; 10]));
    bus.nudge_stop("node.a-1", first).await?;
    bus.nudge_stop("node.a-2", second).await?;
    for (nudges, task) in [(&mut mine, first), (&mut other, second)] {
        let about = within(nudges.next()).await?.unwrap().about;
        assert_eq!(
            about,
            Some(About::TaskId(bytes::Bytes::copy_from_slice(task.as_bytes())))
        );
    }
    Ok(())
}

#[tokio::test]
async fn a_control_nudge_carries_the_version() -> Result<()> {
    let nats = Nats::start()?;
    let bus = nats.bus().await?;
    let mut nudges = bus.control_nudges().await?;
    bus.nudge_control(17).await?;
    assert_eq!(
        within(nudges.next()).await?.unwrap().about,
        Some(About::ControlVersion(17))
    );
    Ok(())
}

#[tokio::test]
async fn nothing_is_kept_for_a_server_that_is_away() -> Result<()> {
    let mut nats = Nats::start()?;
    nats.kill();
    let bus = Bus::connect(nats.config()).await?;
    assert!(matches!(bus.report_slots(&report(1)).await, Err(Error::NotReady)));
    Ok(())
}
