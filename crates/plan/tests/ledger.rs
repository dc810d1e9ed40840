//! Whatever the calls and their bounds: every planned instant gets exactly one record, in order (I7), and what fires is
//! what a plain reading of the policy says.

#![allow(clippy::unwrap_used)]

use gengfu_plan::{Bounds, Misfire, Pause, Plan, Policy, Schedule, Slice, Standing, TriggerOutcome};
use proptest::prelude::*;

/// 2026-03-06T00:00:00Z: two days before the clock of New York goes forward.
const BASE: i64 = 1_772_755_200_000;
const DAY: i64 = 86_400_000;

/// An instant, whether it fired, and the words of its reason.
type Entry = (i64, bool, &'static str);

fn rule() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        r#""cron":"*/10 * * * *""#,
        r#""cron":"0,7,9 2,3,14 * * *""#,
        r#""cron":"*/20 30 1-3 * * *""#,
        r#""cron":"30 2 * * *","dst_overlap":"both""#,
        r#""every":"37m""#,
        r#""every":"13s","start":"2026-03-07T11:00:00Z","end":"2026-03-07T11:20:00Z""#,
        r#""at":"2026-03-08T07:00:00Z""#,
    ])
}

fn misfire() -> impl Strategy<Value = String> {
    let grace = prop::sample::select(vec!["1s", "60s", "40m"]);
    let policy = prop_oneof![
        Just("\"policy\":\"skip\"".to_owned()),
        Just("\"policy\":\"fire_once\"".to_owned()),
        (1_u32..90, 1_u32..3_000)
            .prop_map(|(max, within)| format!(r#""policy":"catch_up","max":{max},"within":"{within}m""#)),
    ];
    (policy, grace).prop_map(|(policy, grace)| format!(r#"{{{policy},"grace":"{grace}"}}"#))
}

fn plan() -> impl Strategy<Value = Plan> {
    let spread = prop::sample::select(vec!["0s", "45s", "2h"]);
    let max_fires = prop_oneof![
        Just(String::new()),
        (1_u32..40).prop_map(|max| format!(r#","max_fires":{max}"#))
    ];
    (rule(), misfire(), spread, max_fires, "[a-z]{1,6}").prop_map(|(rule, misfire, spread, max_fires, name)| {
        let text = format!(
            r#"{{"name":"{name}","type":"t","zone":"America/New_York",{rule},"misfire":{misfire},"spread":"{spread}"{max_fires}}}"#
        );
        Schedule::parse(&text).unwrap().plan(|_| None).unwrap()
    })
}

fn bounds() -> impl Strategy<Value = Bounds> {
    (1_usize..70, 1_usize..200).prop_map(|(records, steps)| Bounds { records, steps })
}

/// A time of so many days, often on one of ten minutes, where instants lie.
fn time(days: i64) -> impl Strategy<Value = i64> {
    prop_oneof![0..days * DAY, (0..days * 144).prop_map(|ten| ten * 600_000)]
}

fn pause() -> impl Strategy<Value = Option<Pause>> {
    prop::option::of((time(3), time(3))).prop_map(|pause| {
        pause.map(|(since, length)| Pause {
            since: BASE + since,
            until: BASE + since + length,
        })
    })
}

/// When an instant is due, by the calendar's own spread.
fn due(plan: &Plan, at: i64) -> i64 {
    plan.next_after(at - 1).unwrap().due
}

/// The instants of a slice one by one, each range looked up in the timetable.
fn entries(plan: &Plan, slice: &Slice) -> Vec<Entry> {
    let mut entries = Vec::new();
    for record in &slice.records {
        let inside: Vec<i64> = plan.between(record.planned_at, record.to + 1).collect();
        assert_eq!(inside.len(), record.count as usize, "{record:?}");
        assert_eq!(inside.last(), Some(&record.to));
        let fired = record.outcome == TriggerOutcome::Fired;
        entries.extend(inside.into_iter().map(|at| (at, fired, record.reason_words())));
    }
    entries
}

/// Asks until nothing is left to do at this moment.
fn drain(plan: &Plan, standing: &mut Standing, now: i64, bounds: Bounds) -> Vec<Entry> {
    let mut all = Vec::new();
    loop {
        let slice = plan.slice_within(standing, now, bounds);
        let walked: u32 = slice.records.iter().map(|record| record.count).sum();
        assert!(slice.records.len() <= bounds.records && walked as usize <= bounds.steps);
        all.extend(entries(plan, &slice));
        assert_eq!(
            all.last()
                .map_or(standing.cursor, |entry| entry.0.max(standing.cursor)),
            slice.standing.cursor
        );
        *standing = slice.standing;
        if !slice.more {
            return all;
        }
    }
}

/// What the policy says in plain words, with every instant before one's eyes.
fn expected(plan: &Plan, standing: &Standing, now: i64) -> Vec<Entry> {
    let schedule = plan.schedule();
    let Misfire { policy, grace_ms } = schedule.misfire;
    let planned = plan.timetable().fires_after(gengfu_time(standing.cursor));
    let all: Vec<(i64, i64)> = planned
        .map(|fire| fire.at.as_millisecond())
        .take_while(|at| *at <= now)
        .map(|at| (at, due(plan, at)))
        .filter(|(_, due)| *due <= now)
        .collect();
    let late: Vec<i64> = all
        .iter()
        .filter(|(_, due)| now - due > grace_ms)
        .map(|(at, _)| *at)
        .collect();
    let chosen: Vec<i64> = match policy {
        Policy::Skip => vec![],
        Policy::FireOnce => late.last().copied().into_iter().collect(),
        Policy::CatchUp { max, within_ms } => {
            let newest = late.iter().rev().take(max as usize);
            newest.copied().filter(|at| now - at <= within_ms).collect()
        }
    };
    let reason = match policy {
        Policy::Skip => "misfire skip",
        Policy::FireOnce => "misfire fire_once",
        Policy::CatchUp { .. } => "misfire catch_up",
    };
    let mut left = schedule.max_fires.unwrap_or(u64::MAX);
    let mut entries = Vec::new();
    for (at, due) in all {
        if left == 0 {
            break;
        }
        let paused = standing
            .pause
            .is_some_and(|pause| pause.since <= due && due < pause.until);
        let entry = match (late.contains(&at), chosen.contains(&at)) {
            (false, _) => (at, true, ""),
            (true, true) => (at, true, reason),
            (true, false) if paused => (at, false, "paused"),
            (true, false) => (at, false, reason),
        };
        left -= u64::from(entry.1);
        entries.push(entry);
    }
    entries
}

fn gengfu_time(at: i64) -> jiff::Timestamp {
    jiff::Timestamp::from_millisecond(at).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn however_it_is_sliced_the_policy_decides_once(
        plan in plan(), bounds in bounds(), pause in pause(), start in time(1), outage in time(4),
    ) {
        let mut standing = Standing { pause, ..Standing::at(BASE + start) };
        let now = BASE + start + outage;
        let expected = expected(&plan, &standing, now);
        prop_assert_eq!(drain(&plan, &mut standing, now, bounds), expected);
    }

    #[test]
    fn whatever_the_calls_every_instant_has_one_record(
        plan in plan(), calls in prop::collection::vec((bounds(), time(1), any::<bool>()), 1..20), start in time(1),
    ) {
        let grace_ms = plan.schedule().misfire.grace_ms;
        let (mut standing, mut now, mut ledger) = (Standing::at(BASE + start), BASE + start, Vec::new());
        for (bounds, wait, forgets) in calls {
            now += wait;
            if forgets {
                standing.settlement = None; // another scheduler took over
            }
            let slice = plan.slice_within(&standing, now, bounds);
            for (at, fired, reason) in entries(&plan, &slice) {
                let due = due(&plan, at);
                prop_assert!(due <= now, "fired before it was due");
                prop_assert!(fired || now - due > grace_ms, "{} is no misfire yet: {}", at, reason);
                ledger.push((at, fired));
            }
            if let Some(next) = slice.next {
                prop_assert!(next.planned_at > slice.standing.cursor);
                prop_assert!(slice.more || next.due > now);
            }
            standing = slice.standing;
        }
        let rest = drain(&plan, &mut standing, now, Bounds::default());
        ledger.extend(rest.into_iter().map(|(at, fired, _)| (at, fired)));
        let fires = ledger.iter().filter(|(_, fired)| *fired).count() as u64;
        prop_assert_eq!(standing.fires, fires);
        let ended = plan.schedule().max_fires.is_some_and(|max| fires >= max);
        prop_assert!(plan.schedule().max_fires.is_none_or(|max| fires <= max));
        let until = if ended { standing.cursor } else { now };
        let all: Vec<i64> = plan
            .timetable()
            .fires_after(gengfu_time(BASE + start))
            .map(|fire| fire.at.as_millisecond())
            .take_while(|at| *at <= until)
            .filter(|at| due(&plan, *at) <= now)
            .collect();
        let recorded: Vec<i64> = ledger.into_iter().map(|(at, _)| at).collect();
        prop_assert_eq!(recorded, all);
    }
}
