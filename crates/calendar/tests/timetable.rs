//! What a timetable adds to its rule: working days, bounds, marks, and words.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use gengfu_calendar::{
    Every, Fire, Options, Timestamp, Timetable, Timing, WorkingDays, Zone, timetable, working_days,
};

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn build(cron: &str, zone: &str, options: Options) -> Result<Timetable, timetable::Error> {
    Timetable::new(
        Timing::parse(cron, None).unwrap(),
        Zone::named(zone).unwrap(),
        options,
    )
}

fn fires(timetable: &Timetable, after: &str, count: usize) -> Vec<String> {
    timetable
        .fires_after(at(after))
        .take(count)
        .map(|fire| fire.to_string())
        .collect()
}

/// National Day 2026: the 1st to the 7th off, Saturday the 10th worked.
fn october(years: &str) -> Arc<WorkingDays> {
    let spec = working_days::Spec {
        name: "cn".into(),
        version: "2026-1".into(),
        years: years.into(),
        weekend: vec!["sat".into(), "sun".into()],
        off: vec!["2026-10-01..2026-10-07".into()],
        on: vec!["2026-10-10".into()],
    };
    Arc::new(WorkingDays::new(&spec).unwrap())
}

fn on_working_days(cron: &str, zone: &str) -> Timetable {
    build(
        cron,
        zone,
        Options {
            calendar: Some(october("2026")),
            ..Options::default()
        },
    )
    .unwrap()
}

#[test]
fn days_off_are_left_out_and_make_up_days_are_not() {
    let timetable = on_working_days("0 9 * * *", "Asia/Shanghai");
    assert_eq!(
        fires(&timetable, "2026-09-29T12:00:00Z", 5),
        [
            "2026-09-30T09:00:00+08:00",
            "2026-10-08T09:00:00+08:00",
            "2026-10-09T09:00:00+08:00",
            "2026-10-10T09:00:00+08:00",
            "2026-10-12T09:00:00+08:00"
        ]
    );
    assert_eq!(
        timetable.describe(),
        "at 09:00 every day, Asia/Shanghai, on working days of cn"
    );
}

#[test]
fn the_day_off_is_that_of_the_time_that_was_meant() {
    // Saturday 23:30 does not exist in Nuuk on 2024-03-30 and is made up for on Sunday: both are days off. Friday
    // 23:30 is followed by Monday's.
    let timetable = on_working_days("30 23 * * *", "America/Nuuk");
    assert_eq!(
        fires(&timetable, "2024-03-29T12:00:00Z", 2),
        ["2024-03-29T23:30:00-02:00", "2024-04-01T23:30:00-01:00"]
    );
}

#[test]
fn an_interval_keeps_its_beat_over_days_off() {
    for (interval, zone) in [
        ("10m", "Asia/Shanghai"),
        ("7h", "America/New_York"),
        ("25h", "Pacific/Apia"),
        ("2d", "UTC"),
    ] {
        let options = Options {
            calendar: Some(october("2026")),
            ..Options::default()
        };
        let every = Every::parse(interval).unwrap();
        let timetable = Timetable::new(Timing::Every(every), Zone::named(zone).unwrap(), options).unwrap();
        let tz = jiff::tz::TimeZone::get(zone).unwrap();
        let is_worked = |second: &i64| {
            let date = tz.to_datetime(Timestamp::from_second(*second).unwrap()).date();
            october("2026").is_working(2026, date.month() as u32, date.day() as u32)
        };
        let (from, to) = (
            at("2026-09-30T00:00:00Z").as_second(),
            at("2026-11-03T00:00:00Z").as_second(),
        );
        let multiples = (from..to).filter(|second| second % every.seconds() == 0);
        let expected: Vec<i64> = multiples.filter(is_worked).collect();
        let found = timetable
            .fires_after(Timestamp::from_second(from - 1).unwrap())
            .map(|fire| fire.at.as_second());
        assert_eq!(
            found.take_while(|at| *at < to).collect::<Vec<_>>(),
            expected,
            "{interval} in {zone}"
        );
    }
}

#[test]
fn a_day_off_that_the_clock_leaves_again_is_left_with_it() {
    // In St John's Sunday 2010-11-07 began, and a minute later it was Saturday 23:01 once more.
    let spec = working_days::Spec {
        name: "six-days".into(),
        version: String::new(),
        years: "2010".into(),
        weekend: vec!["sun".into()],
        off: Vec::new(),
        on: Vec::new(),
    };
    let calendar = Some(Arc::new(WorkingDays::new(&spec).unwrap()));
    let timetable = build(
        "@every 30s",
        "America/St_Johns",
        Options {
            calendar,
            ..Options::default()
        },
    )
    .unwrap();
    let expected = [
        "2010-11-06T23:59:30-02:30",
        "2010-11-06T23:01:00-03:30",
        "2010-11-06T23:01:30-03:30",
    ];
    assert_eq!(fires(&timetable, "2010-11-07T02:29:00Z", 3), expected);
    assert_eq!(
        fires(&timetable, "2010-11-07T03:29:00Z", 2),
        ["2010-11-06T23:59:30-03:30", "2010-11-08T00:00:00-03:30"]
    );
}

#[test]
fn a_year_that_is_not_covered_is_told_before_it_begins() {
    let timetable = on_working_days("0 9 * * *", "Asia/Shanghai");
    let first = timetable
        .first_uncovered_after(at("2026-03-01T00:00:00Z"))
        .unwrap();
    assert_eq!(
        (first.to_string().as_str(), first.marks.uncovered_year),
        ("2027-01-01T09:00:00+08:00", Some(2027))
    );
    assert_eq!(first.marks.words(), ["calendar does not cover 2027"]);
    assert_eq!(timetable.next_after(at("2026-12-31T23:00:00Z")), Some(first));
    assert_eq!(
        timetable
            .next_after(at("2026-12-30T23:00:00Z"))
            .unwrap()
            .marks
            .uncovered_year,
        None
    );
    // Before the covered years, too; and never where the schedule ends in time.
    assert_eq!(
        timetable
            .first_uncovered_after(at("2025-03-01T00:00:00Z"))
            .unwrap()
            .marks
            .uncovered_year,
        Some(2025)
    );
    let end = Some(at("2027-01-01T00:00:00Z"));
    let options = Options {
        end,
        calendar: Some(october("2026")),
        ..Options::default()
    };
    let ends = build("0 9 * * *", "Asia/Shanghai", options).unwrap();
    assert_eq!(ends.first_uncovered_after(at("2026-03-01T00:00:00Z")), None);
    assert_eq!(ends.fires_after(at("2026-12-30T00:00:00Z")).count(), 2);
    let without = build("0 9 * * *", "Asia/Shanghai", Options::default()).unwrap();
    assert_eq!(without.first_uncovered_after(at("2026-03-01T00:00:00Z")), None);
}

#[test]
fn what_falls_on_days_off_only_is_refused() {
    let with = |cron| {
        build(
            cron,
            "UTC",
            Options {
                calendar: Some(october("2026")),
                ..Options::default()
            },
        )
    };
    assert!(matches!(
        with("0 9 * * 0"),
        Err(timetable::Error::OnlyDaysOff { .. })
    ));
    assert!(matches!(
        with("0 0 9 1 10 ? 2026"),
        Err(timetable::Error::OnlyDaysOff { .. })
    ));
    // The one Saturday that is worked.
    let saturdays = with("0 9 * * SAT").unwrap();
    assert_eq!(
        fires(&saturdays, "2026-01-01T00:00:00Z", 3),
        ["2026-10-10T09:00:00+00:00"]
    );
}

#[test]
fn start_is_within_and_end_is_not() {
    let (start, end) = (Some(at("2026-03-01T09:00:00Z")), Some(at("2026-03-03T09:00:00Z")));
    let timetable = build(
        "0 9 * * *",
        "UTC",
        Options {
            start,
            end,
            ..Options::default()
        },
    )
    .unwrap();
    let expected = ["2026-03-01T09:00:00+00:00", "2026-03-02T09:00:00+00:00"];
    assert_eq!(fires(&timetable, "1970-01-01T00:00:00Z", 9), expected);
    let (start, end) = (end, start);
    assert!(
        build(
            "0 9 * * *",
            "UTC",
            Options {
                start,
                end,
                ..Options::default()
            }
        )
        .is_err()
    );
}

#[test]
fn an_instant_with_a_fraction_is_before_the_next_second() {
    let timetable = build("* * * * * *", "UTC", Options::default()).unwrap();
    for (after, next) in [
        ("2026-03-01T09:00:00Z", "2026-03-01T09:00:01+00:00"),
        ("2026-03-01T09:00:00.999999999Z", "2026-03-01T09:00:01+00:00"),
        ("1969-12-31T23:59:58.5Z", "1969-12-31T23:59:59+00:00"),
        ("1969-12-31T23:59:59.999Z", "1970-01-01T00:00:00+00:00"),
    ] {
        assert_eq!(fires(&timetable, after, 1), [next], "after {after}");
    }
}

#[test]
fn a_single_instant_fires_once() {
    let one = |options| Timetable::new(Timing::At(at("2026-10-10T09:00:00Z")), Zone::utc(), options);
    let timetable = one(Options {
        calendar: Some(october("2026")),
        ..Options::default()
    })
    .unwrap();
    assert_eq!(
        fires(&timetable, "2026-10-10T08:59:59Z", 9),
        ["2026-10-10T09:00:00+00:00"]
    );
    assert_eq!(timetable.next_after(at("2026-10-10T09:00:00Z")), None);
    assert!(
        one(Options {
            start: Some(at("2026-10-10T09:00:01Z")),
            ..Options::default()
        })
        .is_err()
    );
    assert!(
        one(Options {
            end: Some(at("2026-10-10T09:00:00Z")),
            ..Options::default()
        })
        .is_err()
    );
    let off = Options {
        calendar: Some(october("2026")),
        ..Options::default()
    };
    assert!(Timetable::new(Timing::At(at("2026-10-03T09:00:00Z")), Zone::utc(), off).is_err());
}

#[test]
fn marks_show_what_is_unusual() {
    let marks = |cron: &str, after: &str| -> Vec<(String, Vec<String>)> {
        let timetable = build(cron, "America/New_York", Options::default()).unwrap();
        let show = |fire: Fire| (fire.local.to_string(), fire.marks.words());
        timetable.fires_after(at(after)).take(3).map(show).collect()
    };
    let changes = "clock changes on this day".to_owned();
    let shifted = "in place of 2026-03-08T02:30:00, which the clock jumps over".to_owned();
    assert_eq!(
        marks("30 2 * * *", "2026-03-07T06:00:00Z"),
        [
            ("2026-03-07T02:30:00".to_owned(), vec![]),
            ("2026-03-08T03:00:00".to_owned(), vec![changes.clone(), shifted]),
            ("2026-03-09T02:30:00".to_owned(), vec![])
        ]
    );
    // Due at the gap's end anyway: nothing was shifted.
    assert_eq!(
        marks("0 3 8 3 *", "2026-03-07T09:00:00Z")[0],
        ("2026-03-08T03:00:00".to_owned(), vec![changes.clone()])
    );
    let again = "second pass of this time".to_owned();
    assert_eq!(
        marks("30 1-4 1 11 *", "2026-11-01T05:00:00Z"),
        [
            ("2026-11-01T01:30:00".to_owned(), vec![changes.clone()]),
            ("2026-11-01T01:30:00".to_owned(), vec![changes.clone(), again]),
            ("2026-11-01T02:30:00".to_owned(), vec![changes])
        ]
    );
}
