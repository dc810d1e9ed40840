//! What fires after an outage of ninety minutes is what the policy says, to the instant.

use domain::{Millis, TriggerOutcome};
use gengfu_integration_tests::eventually;

use crate::{
    schedules::Short,
    town::{NOW, Town},
};

const MINUTE: Millis = 60_000;
/// The planned instants in the outage: each minute after NOW.
const LAST: Millis = NOW + 90 * MINUTE;

/// The ledger of a schedule of each minute after an outage of ninety, with the first instant after it.
async fn after_outage(name: &str, misfire: &str) -> Vec<Short> {
    let town = Town::standing().await;
    town.declare("t").await;
    town.put(
        name,
        &format!(r#""type":"t","cron":"* * * * *","misfire":{misfire}"#),
    )
    .await;
    town.store.clock().advance(90 * MINUTE + 500);
    let running = town.start("n1");
    eventually!(town.cursor(name).await == LAST);
    town.store.clock().advance(MINUTE);
    eventually!(town.cursor(name).await == LAST + MINUTE);
    town.fired(name).await;
    assert!(running.stop().await.is_clean());
    town.short(name).await
}

fn fired(planned_at: Millis, reason: &str) -> Short {
    (
        planned_at,
        planned_at,
        1,
        TriggerOutcome::Fired,
        reason.to_owned(),
    )
}

fn missed(from: Millis, to: Millis, reason: &str) -> Short {
    let count = u32::try_from((to - from) / MINUTE + 1).unwrap();
    (from, to, count, TriggerOutcome::Missed, reason.to_owned())
}

#[tokio::test]
async fn skip_fires_what_is_younger_than_the_grace_and_nothing_else() {
    let reason = "misfire skip";
    let expected = [
        missed(NOW + MINUTE, LAST - MINUTE, reason),
        fired(LAST, ""),
        fired(LAST + MINUTE, ""),
    ];
    assert_eq!(after_outage("skip", r#""skip""#).await, expected);
}

#[tokio::test]
async fn fire_once_fires_the_newest_of_the_misfires() {
    let reason = "misfire fire_once";
    let expected = [
        missed(NOW + MINUTE, LAST - 2 * MINUTE, reason),
        fired(LAST - MINUTE, reason),
        fired(LAST, ""),
        fired(LAST + MINUTE, ""),
    ];
    assert_eq!(after_outage("once", r#""fire_once""#).await, expected);
}

#[tokio::test]
async fn catch_up_fires_the_newest_so_many_oldest_first() {
    let reason = "misfire catch_up";
    let mut expected = vec![missed(NOW + MINUTE, LAST - 71 * MINUTE, reason)];
    expected.extend((1..=70).rev().map(|back| fired(LAST - back * MINUTE, reason)));
    expected.extend([fired(LAST, ""), fired(LAST + MINUTE, "")]);
    let bounded = r#"{"policy":"catch_up","max":70,"within":"2h"}"#;
    assert_eq!(after_outage("catch", bounded).await, expected);
}

#[tokio::test]
async fn catch_up_goes_no_further_back_than_it_may() {
    let reason = "misfire catch_up";
    // 30 minutes back from half a second after the last instant.
    let mut expected = vec![missed(NOW + MINUTE, LAST - 30 * MINUTE, reason)];
    expected.extend((1..=29).rev().map(|back| fired(LAST - back * MINUTE, reason)));
    expected.extend([fired(LAST, ""), fired(LAST + MINUTE, "")]);
    let bounded = r#"{"policy":"catch_up","max":100,"within":"30m"}"#;
    assert_eq!(after_outage("within", bounded).await, expected);
}

#[tokio::test]
async fn instants_of_a_pause_are_skipped_and_the_misfire_policy_decides_on_resume() {
    let town = Town::standing().await;
    town.declare("t").await;
    town.put("paused", r#""type":"t","cron":"* * * * *""#).await;
    let running = town.start("n1");
    town.store.clock().advance(MINUTE);
    eventually!(town.cursor("paused").await == NOW + MINUTE);
    town.pause("paused").await;
    town.store.clock().advance(10 * MINUTE + 1_000);
    town.resume("paused").await;
    eventually!(town.cursor("paused").await == NOW + 11 * MINUTE);
    let first = NOW + 2 * MINUTE;
    let skipped = (
        first,
        NOW + 9 * MINUTE,
        8,
        TriggerOutcome::Skipped,
        "paused".to_owned(),
    );
    let expected = [
        fired(NOW + MINUTE, ""),
        skipped,
        fired(NOW + 10 * MINUTE, "misfire fire_once"),
        fired(NOW + 11 * MINUTE, ""),
    ];
    assert_eq!(town.short("paused").await, expected);
    assert!(running.stop().await.is_clean());
}
