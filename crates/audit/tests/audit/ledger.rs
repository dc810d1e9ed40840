//! Schedules: each planned instant has one record.

use bytes::Bytes;
use domain::{Millis, Overlap, TaskId};
use store::{Firing, NewTask, NewTrigger, PutSchedule};

use crate::town::{PARTITION, Town};

const NAME: &str = "nightly";
const MINUTE: Millis = 60_000;

/// A schedule of every minute whose definition is an hour old, and whose instants have fired up to now.
async fn fired(town: &mut Town) -> Vec<Millis> {
    let now = town.store.ping().await.unwrap();
    let put = PutSchedule {
        name: NAME.into(),
        spec: Bytes::from_static(br#"{"name":"nightly","type":"t","every":"1m","zone":"UTC"}"#),
        overlap: Overlap::Allow,
        queue_max: 1,
        max_fires: 0,
        seen: None,
        anchor: now,
        next: now + MINUTE,
        due: now + MINUTE,
        owed: Vec::new(),
    };
    let origin = Town::origin();
    town.store
        .put_schedules(PARTITION, town.nonce(), &origin, &[put])
        .await
        .unwrap()[0]
        .as_ref()
        .unwrap();
    // An hour has passed since: CHANGED and CURSOR are the 11th and the 3rd field.
    let first = (now - 60 * MINUTE).div_euclid(MINUTE) * MINUTE;
    let script = format!(
        "local p = cmsgpack.unpack(redis.call('HGET', KEYS[1], ARGV[1]))
         p[3], p[11] = {first}, {first}
         redis.call('HSET', KEYS[1], ARGV[1], cmsgpack.pack(p))"
    );
    town.call(&[b"EVAL", script.as_bytes(), b"1", b"{gf:00}:plan", NAME.as_bytes()]);
    let instants: Vec<_> = (1..=5).map(|number| first + number * MINUTE).collect();
    let plan = town.store.schedule(NAME).await.unwrap().unwrap().plan;
    let record = |at: &Millis| {
        let mut random = [0; 10];
        random[..8].copy_from_slice(&at.to_be_bytes());
        let task = NewTask {
            id: TaskId::scheduled(*at, random, NAME),
            idempotency_key: format!("{NAME}/1@{at}"),
            schedule_id: NAME.into(),
            planned_at: *at,
            ..town.new_task()
        };
        NewTrigger::fire(*at, "", task)
    };
    let firing = Firing {
        cursor: instants[4],
        next: instants[4] + MINUTE,
        due: instants[4] + MINUTE,
        records: instants.iter().map(record).collect(),
        ..Firing::untouched(&plan)
    };
    let reply = town
        .store
        .fire(PARTITION, town.nonce(), &origin, &[firing])
        .await
        .unwrap();
    reply.items[0].as_ref().unwrap();
    town.announce(reply.outbox);
    town.settle().await;
    instants
}

#[tokio::test]
async fn a_ledger_without_a_hole_is_clean() {
    let mut town = Town::new().await;
    fired(&mut town).await;
    let report = town.audit().await;
    assert!(report.is_clean(), "{report:#?}");
    let looked = |what: &str| report.looked_at.get(what).copied().unwrap_or(0);
    assert_eq!(
        (
            looked("schedules"),
            looked("planned instants"),
            looked("tasks of fires")
        ),
        (1, 5, 5),
        "{report:#?}"
    );
}

#[tokio::test]
async fn an_instant_without_its_record_is_found() {
    let mut town = Town::new().await;
    let instants = fired(&mut town).await;
    let at = instants[2].to_string();
    let removed = town.call(&[
        b"ZREMRANGEBYSCORE",
        b"{gf:00}:tr:nightly",
        at.as_bytes(),
        at.as_bytes(),
    ]);
    assert_eq!(removed, gengfu_integration_tests::Reply::Int(1));
    town.expect("I7", "has no record").await;
}

#[tokio::test]
async fn an_instant_with_two_records_is_found() {
    let mut town = Town::new().await;
    let instants = fired(&mut town).await;
    // The record again, with another task.
    let script = "local kept = redis.call('ZRANGE', KEYS[1], ARGV[1], ARGV[1], 'BYSCORE')
         local r = cmsgpack.unpack(kept[1])
         r[7] = string.rep('x', 16)
         redis.call('ZADD', KEYS[1], ARGV[1], cmsgpack.pack(r))";
    let at = instants[1].to_string();
    town.call(&[
        b"EVAL",
        script.as_bytes(),
        b"1",
        b"{gf:00}:tr:nightly",
        at.as_bytes(),
    ]);
    town.expect("I7", "has 2 records").await;
}

#[tokio::test]
async fn a_fire_whose_task_is_of_something_else_is_found() {
    let mut town = Town::new().await;
    let instants = fired(&mut town).await;
    let stranger = town.done().await;
    town.settle().await;
    let script = "local kept = redis.call('ZRANGE', KEYS[1], ARGV[1], ARGV[1], 'BYSCORE')
         local r = cmsgpack.unpack(kept[1])
         redis.call('ZREM', KEYS[1], kept[1])
         r[7] = ARGV[2]
         redis.call('ZADD', KEYS[1], ARGV[1], cmsgpack.pack(r))";
    let at = instants[1].to_string();
    let key: &[u8] = b"{gf:00}:tr:nightly";
    town.call(&[
        b"EVAL",
        script.as_bytes(),
        b"1",
        key,
        at.as_bytes(),
        stranger.as_bytes(),
    ]);
    town.expect("I7", "says it is of").await;
}
