//! Every zone of the tz database, around the changes of its clock from 1990 to 2040, against brute force.
//!
//! The default run takes a sample that is the same every time, with every unusual change in it.
//! `GENGFU_CALENDAR_SWEEP=full` takes all changes, and every starting second around them; use a release build for it.

#![allow(clippy::unwrap_used)]

mod brute_force;

use std::collections::{BTreeMap, BTreeSet};

use brute_force::{Clock, Expression, Window};
use gengfu_calendar::{DstGap, DstOverlap, Options, Timestamp, Timetable, Timing, Zone, zone};
use jiff::tz::TimeZone;

const HOUR: i64 = 3_600;
const DAY: i64 = 86_400;

/// Fires are compared so far around a change.
const INNER: i64 = 30 * HOUR;
/// Brute force looks at so much more on both sides, to know what was shown before and comes again.
const MARGIN: i64 = 56 * HOUR;

const EXPRESSIONS: [Expression; 12] = [
    Expression {
        cron: "0 0 * * *",
        is_fixed: true,
        matches: |c| c.hour == 0 && c.minute == 0,
    },
    Expression {
        cron: "30 2 * * *",
        is_fixed: true,
        matches: |c| c.hour == 2 && c.minute == 30,
    },
    Expression {
        cron: "0,30 1,2,3 * * *",
        is_fixed: true,
        matches: |c| (1..=3).contains(&c.hour) && c.minute % 30 == 0,
    },
    Expression {
        cron: "30 23,0 * * SAT,SUN",
        is_fixed: true,
        matches: |c| c.weekday % 6 == 0 && c.hour % 23 == 0 && c.minute == 30,
    },
    Expression {
        cron: "10,20 0,2,23 * * 1-6",
        is_fixed: true,
        matches: |c| c.weekday > 0 && [0, 2, 23].contains(&c.hour) && [10, 20].contains(&c.minute),
    },
    Expression {
        cron: "45 23 L * ?",
        is_fixed: true,
        matches: |c| c.day == c.days_in_month && c.hour == 23 && c.minute == 45,
    },
    Expression {
        cron: "15 0 1 3,4,10 0#1",
        is_fixed: true,
        matches: |c| {
            let day = c.day == 1 || (c.weekday == 0 && c.day <= 7);
            day && [3, 4, 10].contains(&c.month) && c.hour == 0 && c.minute == 15
        },
    },
    Expression {
        cron: "*/20 * * * *",
        is_fixed: false,
        matches: |c| c.minute % 20 == 0,
    },
    Expression {
        cron: "15 0-3 * * *",
        is_fixed: false,
        matches: |c| c.hour <= 3 && c.minute == 15,
    },
    Expression {
        cron: "5 */2 * * 7",
        is_fixed: false,
        matches: |c| c.weekday == 0 && c.hour % 2 == 0 && c.minute == 5,
    },
    Expression {
        cron: "* 2 * * *",
        is_fixed: false,
        matches: |c| c.hour == 2,
    },
    Expression {
        cron: "0 22-1 */2 * *",
        is_fixed: false,
        matches: |c| c.day % 2 == 1 && (c.hour >= 22 || c.hour <= 1) && c.minute == 0,
    },
];

const POLICIES: [(DstGap, DstOverlap); 4] = [
    (DstGap::Shift, DstOverlap::First),
    (DstGap::Skip, DstOverlap::Second),
    (DstGap::Shift, DstOverlap::Both),
    (DstGap::Shift, DstOverlap::Second),
];

/// A change, and the changes near it: instant, offset before, offset after. What fires around it depends on nothing
/// else, so zones that share a change are tested once.
type Changes = Vec<(i64, i64, i64)>;

fn is_full() -> bool {
    std::env::var("GENGFU_CALENDAR_SWEEP").is_ok_and(|value| value == "full")
}

/// Every distinct change of every zone, with a zone that has it.
fn changes() -> BTreeMap<(i64, Changes), String> {
    let (from, to) = (second("1990-01-01T00:00:00Z"), second("2040-12-31T00:00:00Z"));
    let mut found = BTreeMap::new();
    for name in zone::names() {
        let tz = TimeZone::get(&name).unwrap();
        let mut all = Vec::new();
        let mut before = offset(&tz, from - INNER - MARGIN);
        for change in tz.following(Timestamp::from_second(from - INNER - MARGIN).unwrap()) {
            let (at, after) = (
                change.timestamp().as_second(),
                i64::from(change.offset().seconds()),
            );
            if at > to + INNER + MARGIN {
                break;
            }
            if after != before {
                all.push((at, before, after));
            }
            before = after;
        }
        for &(at, ..) in all.iter().filter(|(at, ..)| (from..=to).contains(at)) {
            let near = |(other, ..): &&(i64, i64, i64)| (at - other).abs() <= INNER + MARGIN;
            found
                .entry((at, all.iter().filter(near).copied().collect()))
                .or_insert_with(|| name.clone());
        }
    }
    found
}

fn second(at: &str) -> i64 {
    at.parse::<Timestamp>().unwrap().as_second()
}

fn offset(tz: &TimeZone, at: i64) -> i64 {
    i64::from(tz.to_offset(Timestamp::from_second(at).unwrap()).seconds())
}

/// Whether a change is one of a kind: not by an hour, at an unusual time of the day, or near another one.
fn is_unusual(at: i64, near: &Changes) -> bool {
    let (_, before, after) = *near.iter().find(|(other, ..)| *other == at).unwrap();
    let (from, to) = ((at + before).rem_euclid(DAY), (at + after).rem_euclid(DAY));
    near.len() > 1 || (after - before).abs() != HOUR || from > 22 * HOUR || to < from && after > before
}

#[test]
fn fires_around_every_change_of_every_zone_agree_with_brute_force() {
    let all = changes();
    assert!(all.len() > 1_000, "{} changes", all.len());
    let mut unusual = BTreeSet::new();
    let mut checked = 0;
    for (index, ((at, near), name)) in all.iter().enumerate() {
        // Of the unusual changes, one of each shape; of the others, every 7th.
        let shape: Vec<_> = near
            .iter()
            .map(|(_, before, after)| after - before)
            .chain([at.rem_euclid(DAY)])
            .collect();
        let is_new = is_unusual(*at, near) && unusual.insert(shape);
        if is_full() || is_new || index % 7 == 0 {
            check(name, *at);
            checked += 1;
        }
    }
    assert!(checked > 500, "{checked} of {} changes were checked", all.len());
}

fn check(name: &str, change: i64) {
    let (zone, tz) = (Zone::named(name).unwrap(), TimeZone::get(name).unwrap());
    let (from, to) = (change - INNER, change + INNER);
    let window = Window::new(&tz, from - MARGIN, to + MARGIN, 60);
    assert!(window.is_exact(), "{name} at {change} has offsets with seconds");
    for (index, expression) in EXPRESSIONS.iter().enumerate() {
        for (gap, overlap) in POLICIES.into_iter().take(if expression.is_fixed { 4 } else { 1 }) {
            let expected = window.fires(expression, gap, overlap, from, to);
            let timetable = timetable(expression.cron, &zone, gap, overlap);
            let what = format!(
                "{} in {name} around {change}, {gap:?} {overlap:?}",
                expression.cron
            );
            check_fires(&timetable, &tz, expression, &expected, (from, to), &what);
            let starts = if is_full() { 1 } else { 61 + index as i64 };
            check_starts(&timetable, &expected, change, starts, &what);
        }
    }
}

fn timetable(cron: &str, zone: &Zone, dst_gap: DstGap, dst_overlap: DstOverlap) -> Timetable {
    let options = Options {
        dst_gap,
        dst_overlap,
        ..Options::default()
    };
    Timetable::new(Timing::parse(cron, None).unwrap(), zone.clone(), options).unwrap()
}

/// The fires are those of brute force, in strict order, and each shows its fields or is the end of a gap.
fn check_fires(
    timetable: &Timetable,
    tz: &TimeZone,
    expression: &Expression,
    expected: &[i64],
    (from, to): (i64, i64),
    what: &str,
) {
    let after = Timestamp::from_second(from - 1).unwrap();
    let fires: Vec<_> = timetable
        .fires_after(after)
        .take_while(|fire| fire.at.as_second() <= to)
        .collect();
    let instants: Vec<i64> = fires.iter().map(|fire| fire.at.as_second()).collect();
    assert_eq!(instants, expected, "{what}");
    assert!(instants.is_sorted_by(|a, b| a < b), "{what}");
    for fire in fires {
        let at = fire.at.as_second();
        let (before, now) = (offset(tz, at - 1), offset(tz, at));
        assert_eq!(i64::from(fire.offset_seconds), now, "{what}");
        match fire.marks.shifted_from {
            Some(_) => assert!(now > before, "{what}: {fire} is no end of a gap"),
            None => assert!(
                (expression.matches)(&shown(at + now)),
                "{what}: {fire} does not match"
            ),
        }
    }
}

fn shown(civil: i64) -> Clock {
    brute_force::clock(&mut BTreeMap::new(), civil)
}

/// The next fire is the same, whatever second the search starts from.
fn check_starts(timetable: &Timetable, expected: &[i64], change: i64, step: i64, what: &str) {
    let starts = (change - 2 * HOUR..change + 2 * HOUR)
        .step_by(step as usize)
        .chain(change - 2..change + 2);
    for start in starts {
        let next = expected[expected.partition_point(|at| *at <= start)..].first();
        let found = timetable.next_after(Timestamp::from_second(start).unwrap());
        let found = found
            .map(|fire| fire.at.as_second())
            .filter(|at| *at <= change + INNER);
        assert_eq!(found.as_ref(), next, "{what} after {start}");
    }
}

#[test]
fn seconds_are_found_around_a_change_as_brute_force_finds_them() {
    let expressions = [
        Expression {
            cron: "37 59 0,1,2 * * *",
            is_fixed: true,
            matches: |c| c.second == 37 && c.minute == 59 && c.hour <= 2,
        },
        Expression {
            cron: "*/40 * 1-3 * * ?",
            is_fixed: false,
            matches: |c| c.second % 40 == 0 && (1..=3).contains(&c.hour),
        },
    ];
    // A gap and an overlap of an hour, of half an hour, and offsets with seconds before 1972.
    for (name, change) in [
        ("America/New_York", "2026-03-08T07:00:00Z"),
        ("America/New_York", "2026-11-01T06:00:00Z"),
        ("Australia/Lord_Howe", "2026-10-03T15:30:00Z"),
        ("Africa/Monrovia", "1972-01-07T00:44:30Z"),
    ] {
        let (zone, tz, change) = (
            Zone::named(name).unwrap(),
            TimeZone::get(name).unwrap(),
            second(change),
        );
        assert_ne!(offset(&tz, change - 1), offset(&tz, change), "{name}");
        let window = Window::new(&tz, change - 8 * HOUR, change + 8 * HOUR, 1);
        for expression in &expressions {
            for (gap, overlap) in POLICIES.into_iter().take(if expression.is_fixed { 4 } else { 1 }) {
                let expected = window.fires(expression, gap, overlap, change - 4 * HOUR, change + 4 * HOUR);
                let timetable = timetable(expression.cron, &zone, gap, overlap);
                let after = Timestamp::from_second(change - 4 * HOUR - 1).unwrap();
                let fires = timetable.fires_after(after).map(|fire| fire.at.as_second());
                let fires: Vec<i64> = fires.take_while(|at| *at <= change + 4 * HOUR).collect();
                assert_eq!(
                    fires, expected,
                    "{} in {name} {gap:?} {overlap:?}",
                    expression.cron
                );
            }
        }
    }
}
