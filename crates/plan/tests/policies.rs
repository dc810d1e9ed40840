//! What fires after an outage is what the policy says, to the instant.

#![allow(clippy::unwrap_used)]

use calendar::Timestamp;
use gengfu_plan::{Choice, Pause, Plan, Policy, Reason, Record, Schedule, Slice, Standing, TriggerOutcome};

fn at(text: &str) -> i64 {
    format!("2026-03-01T{text}Z")
        .parse::<Timestamp>()
        .unwrap()
        .as_millisecond()
}

fn plan(fields: &str) -> Plan {
    let text = format!(r#"{{"name":"a","type":"t","zone":"UTC",{fields}}}"#);
    Schedule::parse(&text).unwrap().plan(|_| None).unwrap()
}

/// `fired 10:00` and `missed 09:00-09:50 x6 misfire skip`.
fn shown(slice: &Slice) -> Vec<String> {
    let clock = |at: i64| Timestamp::from_millisecond(at).unwrap().to_string()[11..16].to_owned();
    let one = |record: &Record| match record.outcome {
        TriggerOutcome::Fired => format!("fired {}", clock(record.planned_at)),
        TriggerOutcome::Skipped | TriggerOutcome::Missed => format!(
            "{} {}-{} x{} {}",
            record.outcome.as_str(),
            clock(record.planned_at),
            clock(record.to),
            record.count,
            record.reason_words()
        ),
    };
    slice.records.iter().map(one).collect()
}

/// After an outage from 08:30 to 10:00:30 of a schedule of every ten minutes.
fn after_outage(misfire: &str) -> Vec<String> {
    let plan = plan(&format!(r#""cron":"*/10 * * * *","misfire":{misfire}"#));
    let slice = plan.slice(&Standing::at(at("08:30:00")), at("10:00:30"));
    assert_eq!(slice.standing.cursor, at("10:00:00"));
    assert_eq!(slice.next.unwrap().planned_at, at("10:10:00"));
    assert!(!slice.more);
    shown(&slice)
}

#[test]
fn after_an_outage_of_ninety_minutes_each_policy_fires_what_it_says() {
    let catch_up = |missed, fired: &[&str]| -> Vec<String> {
        let fired = fired.iter().map(|at| format!("fired {at}"));
        std::iter::once(format!("missed {missed} misfire catch_up"))
            .chain(fired)
            .collect()
    };
    assert_eq!(
        after_outage(r#""skip""#),
        ["missed 08:40-09:50 x8 misfire skip", "fired 10:00"]
    );
    assert_eq!(
        after_outage(r#""fire_once""#),
        [
            "missed 08:40-09:40 x7 misfire fire_once",
            "fired 09:50",
            "fired 10:00"
        ]
    );
    assert_eq!(
        after_outage(r#"{"policy":"catch_up","max":3}"#),
        catch_up("08:40-09:20 x5", &["09:30", "09:40", "09:50", "10:00"])
    );
    // 09:40 is 20 minutes and a half old: as old as it may be.
    assert_eq!(
        after_outage(r#"{"policy":"catch_up","max":3,"within":"1230s"}"#),
        catch_up("08:40-09:30 x6", &["09:40", "09:50", "10:00"])
    );
    assert_eq!(
        after_outage(r#"{"policy":"catch_up","max":3,"within":"1229s"}"#),
        catch_up("08:40-09:40 x7", &["09:50", "10:00"])
    );
    assert_eq!(
        after_outage(r#"{"policy":"skip","grace":"11m"}"#),
        ["missed 08:40-09:40 x7 misfire skip", "fired 09:50", "fired 10:00"]
    );
}

#[test]
fn an_instant_within_the_grace_fires_late_and_says_when_it_was_due() {
    let plan = plan(r#""cron":"0 9 * * *","misfire":"skip""#);
    let standing = Standing::at(at("08:00:00"));
    for (now, records) in [
        ("08:59:59.999", vec![]),
        ("09:00:00", vec!["fired 09:00"]),
        ("09:01:00", vec!["fired 09:00"]),
        ("09:01:00.001", vec!["missed 09:00-09:00 x1 misfire skip"]),
    ] {
        let slice = plan.slice(&standing, at(now));
        assert_eq!(shown(&slice), records, "{now}");
        assert!(slice.records.iter().all(|record| record.due == at("09:00:00")));
    }
}

#[test]
fn what_did_not_fire_in_a_pause_is_skipped_and_what_came_before_it_is_missed() {
    let plan = plan(r#""cron":"*/10 * * * *""#);
    let pause = Pause {
        since: at("09:05:00"),
        until: at("10:00:30"),
    };
    let standing = Standing {
        pause: Some(pause),
        ..Standing::at(at("08:30:00"))
    };
    let slice = plan.slice(&standing, pause.until);
    assert_eq!(
        shown(&slice),
        [
            "missed 08:40-09:00 x3 misfire fire_once",
            "skipped 09:10-09:40 x4 paused",
            "fired 09:50",
            "fired 10:00"
        ]
    );
    assert_eq!(slice.standing.pause, None);
}

#[test]
fn the_spread_delays_the_fire_and_not_the_planned_instant() {
    let plan = plan(r#""cron":"0 9 * * *","spread":"1h","misfire":"skip""#);
    let next = plan.next_after(at("08:00:00")).unwrap();
    assert!(
        next.due > next.planned_at && next.due < at("10:00:00"),
        "{next:?}"
    );
    let standing = Standing::at(at("08:00:00"));
    assert!(plan.slice(&standing, next.due - 1).records.is_empty());
    for late in [0, 60_000] {
        let slice = plan.slice(&standing, next.due + late);
        assert_eq!(shown(&slice), ["fired 09:00"]);
        assert_eq!(slice.records[0].due, next.due);
    }
    assert_eq!(
        shown(&plan.slice(&standing, next.due + 60_001)),
        ["missed 09:00-09:00 x1 misfire skip"]
    );
}

#[test]
fn max_fires_ends_a_schedule_and_its_instants() {
    let plan = plan(r#""cron":"*/10 * * * *","max_fires":5,"misfire":{"policy":"catch_up","max":4}"#);
    let standing = Standing {
        fires: 3,
        ..Standing::at(at("08:30:00"))
    };
    let slice = plan.slice(&standing, at("10:00:30"));
    assert_eq!(
        shown(&slice),
        [
            "missed 08:40-09:10 x4 misfire catch_up",
            "fired 09:20",
            "fired 09:30"
        ]
    );
    assert!(slice.more, "a fire may still have been refused");
    let ended = plan.slice(&slice.standing, at("10:00:30"));
    assert_eq!((ended.records, ended.next, ended.more), (vec![], None, false));
    // One of the fires was refused: the schedule goes on.
    let refused = Standing {
        fires: 4,
        ..slice.standing
    };
    assert_eq!(shown(&plan.slice(&refused, at("10:00:30"))), ["fired 09:40"]);
}

#[test]
fn a_window_bounds_the_instants() {
    let plan = plan(
        r#""every":"10m","start":"2026-03-01T09:05:00Z","end":"2026-03-01T09:35:00Z","misfire":"catch_up""#,
    );
    let slice = plan.slice(&Standing::at(at("00:00:00")), at("12:00:00"));
    assert_eq!(shown(&slice), ["fired 09:05", "fired 09:15", "fired 09:25"]);
    assert_eq!((slice.next, slice.more), (None, false));
}

#[test]
fn an_operator_decides_about_a_backlog_before_anything_runs() {
    let plan = plan(r#""cron":"*/10 * * * *""#);
    let (standing, now) = (Standing::at(at("08:30:00")), at("10:00:30"));
    let backlog = plan.backlog(&standing, now);
    assert_eq!((backlog.count, backlog.is_exact), (9, true));
    assert_eq!(
        (backlog.first, backlog.last),
        (Some(at("08:40:00")), Some(at("10:00:00")))
    );
    let fires: Vec<_> = backlog
        .would
        .iter()
        .map(|would| (would.fires, would.passed))
        .collect();
    assert_eq!(fires, [(0, 9), (1, 8), (9, 0)]);
    let range = Choice::Range {
        from: at("09:00:00"),
        to: at("09:20:00"),
    };
    for (choice, records) in [
        (
            Choice::Policy(Policy::Skip),
            vec!["skipped 08:40-10:00 x9 backlog"],
        ),
        (
            Choice::Policy(Policy::FireOnce),
            vec!["skipped 08:40-09:50 x8 backlog", "fired 10:00"],
        ),
        (
            range,
            vec![
                "skipped 08:40-08:50 x2 backlog",
                "fired 09:00",
                "fired 09:10",
                "skipped 09:20-10:00 x5 backlog",
            ],
        ),
    ] {
        let settlement = plan.settle(&standing, now, choice);
        let slice = plan.slice(
            &Standing {
                settlement,
                ..standing
            },
            now,
        );
        assert_eq!(shown(&slice), records);
        let fired = records.iter().filter(|text| text.starts_with("fired")).count();
        assert_eq!(
            plan.would(&standing, now, choice, backlog.count).fires,
            fired as u64
        );
    }
    assert_eq!(plan.settle(&Standing::at(now), now, range), None);
}

#[test]
fn a_changed_definition_leaves_records_and_no_fires() {
    let plan = plan(r#""cron":"*/10 * * * *""#);
    let slice = plan.pass(&Standing::at(at("08:30:00")), at("09:05:00"), Reason::Changed);
    assert_eq!(shown(&slice), ["skipped 08:40-09:00 x3 changed"]);
    assert_eq!((slice.standing.cursor, slice.more), (at("09:00:00"), false));
}

#[test]
fn a_year_without_fires_is_settled_in_short_slices() {
    let plan = plan(r#""cron":"* * * * *","misfire":{"policy":"catch_up","max":100,"within":"1d"}"#);
    let now = at("00:00:30");
    let mut standing = Standing::at(now - 365 * 86_400_000);
    let (mut count, mut fired, mut slices) = (0, Vec::new(), 0);
    loop {
        let slice = plan.slice(&standing, now);
        let walked: u32 = slice.records.iter().map(|record| record.count).sum();
        assert!(walked <= 4_096 && slice.records.len() <= 64);
        count += walked;
        slices += 1;
        let fires = |record: &&Record| record.outcome == TriggerOutcome::Fired;
        fired.extend(slice.records.iter().filter(fires).map(|record| record.planned_at));
        standing = slice.standing;
        if !slice.more {
            break;
        }
    }
    assert_eq!(count, 365 * 1_440);
    let expected: Vec<i64> = plan.between(now - 101 * 60_000, now).collect();
    assert_eq!((fired.len(), fired), (101, expected));
    assert!(slices < 140, "{slices}");
}
