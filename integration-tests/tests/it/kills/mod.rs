//! Ten thousand short tasks while an executor is killed each second, alone and with NATS or Redis failing beside:
//! every task ends in `success`, once, with a timeline without a hole.

mod timelines;
mod walk;

use walk::walk;

/// Kills of which each lost a running attempt at least.
const KILLS_THAT_HURT: usize = 10;

#[tokio::test(flavor = "multi_thread")]
async fn killed_executors_lose_and_double_nothing() {
    let report = walk(|_, _| {}).await;
    report.print("kills alone");
    assert!(report.kills_that_hurt() >= KILLS_THAT_HURT, "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nor_do_they_while_nats_loses_all_its_data_twice() {
    let report = walk(|second, town| {
        if second == 3 || second == 7 {
            town.nats.wipe_data().unwrap();
            town.nats.kill();
            town.nats.start().unwrap();
        }
    })
    .await;
    report.print("NATS wiped and restarted in seconds 3 and 7");
    assert!(report.kills_that_hurt() >= KILLS_THAT_HURT, "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nor_do_they_while_redis_is_away_for_ten_seconds() {
    let report = walk(|second, town| match second {
        3 => town.redis.stop().unwrap(),
        13 => town.redis.start().unwrap(),
        _ => {}
    })
    .await;
    report.print("Redis stopped from second 3 to second 13");
}
