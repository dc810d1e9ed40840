//! Schedules fire: at their time, once, whoever else is there, and whatever is wrong with others.

use bytes::Bytes;
use domain::{Millis, Overlap};
use gengfu_integration_tests::eventually;
use store::{Clock, PlanStore, PutSchedule, TaskStore};

use crate::{
    schedules::{home, name_in},
    town::{NOW, Town, hint},
};

const MINUTE: Millis = 60_000;

/// A schedule whose definition nobody can read.
fn broken(name: &str, now: Millis) -> PutSchedule {
    PutSchedule {
        name: name.to_owned(),
        spec: Bytes::from_static(b"{\"name\":\"x\"}"),
        overlap: Overlap::Allow,
        queue_max: 1,
        max_fires: 0,
        seen: None,
        anchor: now,
        next: now + 1,
        due: now + 1,
        owed: Vec::new(),
    }
}

#[tokio::test]
async fn a_fire_becomes_a_task_by_the_rules_of_its_type_and_a_hint_tells_of_it() {
    let town = Town::standing().await;
    town.declare("t").await;
    town.put(
        "report",
        r#""type":"t","cron":"* * * * *","payload":{"at":"{{planned_at_ms}}"}"#,
    )
    .await;
    let mut hints = town.bus.ready_hints();
    let running = town.start("n1");
    town.store.clock().advance(MINUTE);
    assert_eq!(hint(&mut hints).await.task_type, "t");
    let record = town.records("report").await.remove(0);
    let view = town.store.get(record.task.unwrap()).await.unwrap().unwrap();
    let task = &view.task;
    assert_eq!(
        (task.planned_at, task.schedule_id.as_str()),
        (NOW + MINUTE, "report")
    );
    assert_eq!(
        task.idempotency_key,
        format!("report/{}@{}", record.incarnation, NOW + MINUTE)
    );
    assert_eq!(view.payload, format!(r#"{{"at":"{}"}}"#, NOW + MINUTE));
    let partition = home("report");
    eventually!(
        town.store
            .stats(partition)
            .await
            .is_ok_and(|stats| stats.outbox == 0)
    );
    let shown = running.metrics.render();
    for line in [
        r#"gengfu_trigger_records_total{outcome="fired"} 1"#,
        "gengfu_trigger_lateness_seconds_count 1",
        r#"gengfu_submitted_total{type="t",source="schedule"} 1"#,
    ] {
        assert!(shown.contains(line), "{line} in {shown}");
    }
    assert!(running.stop().await.is_clean());
}

#[tokio::test]
async fn a_spread_delays_and_max_fires_ends() {
    let town = Town::standing().await;
    town.declare("t").await;
    let plan = town
        .put(
            "spread",
            r#""type":"t","cron":"* * * * *","spread":"50s","max_fires":2"#,
        )
        .await;
    let next = plan.next_after(NOW).unwrap();
    assert!(next.due > next.planned_at + 1_000);
    let tick = name_in(home("spread"), "tick");
    town.put(&tick, r#""type":"t","every":"1s""#).await;
    let running = town.start("n1");
    town.store.clock().advance(next.due - 1 - NOW);
    // The same look has seen both.
    eventually!(!town.fired(&tick).await.is_empty());
    assert!(town.fired("spread").await.is_empty());
    town.store.clock().advance(1);
    eventually!(town.fired("spread").await == [next.planned_at]);
    town.store.clock().advance(MINUTE);
    let both = [next.planned_at, next.planned_at + MINUTE];
    eventually!(town.fired("spread").await == both);
    let plan = town.store.schedule("spread").await.unwrap().unwrap().plan;
    assert_eq!((plan.next, plan.is_used_up()), (0, true));
    assert!(running.stop().await.is_clean());
}

#[tokio::test]
async fn bad_schedules_stop_no_other_and_fire_once_they_are_mended() {
    let town = Town::standing().await;
    town.declare("t").await;
    // More of them than one look holds, all due before the good one, and in its partition.
    let partition = home("good");
    for number in 0..70 {
        let name = name_in(partition, &format!("bad{number}"));
        town.put_raw(broken(&name, NOW)).await;
    }
    let typeless = name_in(partition, "typeless");
    town.put(&typeless, r#""type":"later","cron":"* * * * *""#).await;
    town.put("good", r#""type":"t","cron":"* * * * *""#).await;
    let running = town.start("n1");
    town.store.clock().advance(MINUTE + 30_000);
    eventually!(town.fired("good").await == [NOW + MINUTE]);
    let shown = || running.metrics.render();
    eventually!(shown().contains(r#"gengfu_bad_schedules_total{kind="type"}"#));
    assert!(shown().contains(r#"gengfu_bad_schedules_total{kind="definition"}"#));
    town.declare("later").await;
    // Its instant is older than the grace by then: the misfire policy fires it all the same.
    town.store.clock().advance(31_000);
    eventually!(town.fired(&typeless).await.contains(&(NOW + MINUTE)));
    assert!(running.stop().await.is_clean());
}

#[tokio::test]
async fn what_is_due_now_does_not_wait_for_a_catch_up() {
    const BEHIND: Millis = 200;
    let town = Town::standing().await;
    town.declare("t").await;
    // More of them than one look holds, each with much to catch up, and all due before the fresh one.
    let names: Vec<_> = (0..70)
        .map(|n| name_in(home("fresh"), &format!("behind{n}")))
        .collect();
    for name in &names {
        let rest = r#""type":"t","every":"1s","misfire":{"policy":"catch_up","max":5000,"within":"7d"}"#;
        town.put(name, rest).await;
    }
    town.store.clock().advance(BEHIND * 1_000);
    town.put("fresh", r#""type":"t","every":"10s""#).await;
    town.store.clock().advance(10_005);
    let running = town.start("n1");
    let mut made = Vec::new();
    for name in &names {
        eventually!(town.cursor(name).await == town.now() / 1_000 * 1_000);
        let records = town.records(name).await;
        assert_eq!(records.len() as Millis, BEHIND + 10, "none lost");
        made.extend(records.iter().map(|record| record.task.unwrap().made_at()));
    }
    let fresh = town.records("fresh").await.remove(0).task.unwrap().made_at();
    let before = made.iter().filter(|at| **at < fresh).count();
    assert!(before < made.len() / 4, "{before} of {} came first", made.len());
    assert!(running.stop().await.is_clean());
}

#[tokio::test]
async fn two_schedulers_fire_each_instant_once() {
    let town = Town::standing().await;
    town.declare("t").await;
    let names: Vec<_> = (0..200).map(|n| format!("both-{n}")).collect();
    for name in &names {
        town.put(name, r#""type":"t","every":"10s""#).await;
    }
    let (one, other) = (town.start("n1"), town.start("n2"));
    for tick in 1..=5 {
        town.store.clock().advance(10_000);
        for name in &names {
            eventually!(town.cursor(name).await == NOW + tick * 10_000);
        }
    }
    let expected: Vec<_> = (1..=5).map(|tick| NOW + tick * 10_000).collect();
    for name in &names {
        assert_eq!(town.fired(name).await, expected);
    }
    assert!(one.stop().await.is_clean() && other.stop().await.is_clean());
}

#[tokio::test]
async fn a_make_up_saturday_fires_and_a_holiday_monday_does_not() {
    // 2025-11-30 is a Sunday; the calendar takes Monday 1 December off and works on Saturday the 6th.
    const DAY: Millis = 24 * 60 * MINUTE;
    let town = Town::new(Clock::standing(NOW)).await;
    town.declare("t").await;
    let spec = r#"{"name":"cn","years":"2025","off":["2025-12-01"],"on":["2025-12-06"]}"#;
    let calendar = town.put_calendar("cn", spec).await;
    town.put_with(
        "work",
        r#""type":"t","cron":"0 9 * * *","calendar":"cn""#,
        Some(&calendar),
    )
    .await;
    let running = town.start("n1");
    let midnight = NOW - NOW % DAY;
    for day in 0..8 {
        town.store
            .clock()
            .advance(midnight + day * DAY + 9 * 60 * MINUTE - town.now());
        // The scan has looked at this day once it fired something that is due a second later.
        let tick = format!("tick-{day}");
        let tick = name_in(home("work"), &tick);
        town.put(&tick, r#""type":"t","every":"1s""#).await;
        town.store.clock().advance(1_000);
        eventually!(!town.fired(&tick).await.is_empty());
    }
    let days: Vec<_> = town
        .fired("work")
        .await
        .iter()
        .map(|at| (at - midnight) / DAY)
        .collect();
    assert_eq!(
        days,
        [2, 3, 4, 5, 6],
        "Tuesday to Saturday, and neither Sunday nor Monday"
    );
    assert!(running.stop().await.is_clean());
}
