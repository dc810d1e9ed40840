//! Whatever text comes in: no panic, no endless search, and what is read keeps its promises.

#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use gengfu_calendar::{Dialect, DstGap, DstOverlap, Options, Timestamp, Timetable, Timing, Zone};
use proptest::prelude::*;

/// Pieces that expressions are made of, right and wrong ones.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("*".to_owned()),
        Just("?".to_owned()),
        (0u32..70).prop_map(|n| n.to_string()),
        (0u32..32, 0u32..32).prop_map(|(a, b)| format!("{a}-{b}")),
        (0u32..60, 0u32..60).prop_map(|(a, b)| format!("{a}/{b}")),
        (0u32..62).prop_map(|n| format!("*/{n}")),
        (0u32..32, 0u32..32, 0u32..9).prop_map(|(a, b, c)| format!("{a}-{b}/{c}")),
        prop::sample::select(vec![
            "L",
            "L-2",
            "LW",
            "15W",
            "5L",
            "2#2",
            "FRI-MON",
            "jan",
            "DEC-FEB",
            "29",
            "31W",
            "7#5",
            "L-30",
            "SATL",
            "-",
            ",",
            "1,,2",
            "2026",
            "2027-9999",
            "9999",
            "*/7",
            "1970/400",
        ])
        .prop_map(str::to_owned),
    ]
}

fn field() -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 1..3).prop_map(|pieces| pieces.join(","))
}

/// A text that often is an expression.
fn expression() -> impl Strategy<Value = String> {
    prop::collection::vec(field(), 4..8).prop_map(|fields| fields.join(" "))
}

/// Fields that can be read, so that most texts are expressions; dates that are rare are frequent.
fn readable() -> impl Strategy<Value = String> {
    let of = |texts: &'static [&'static str]| prop::sample::select(texts);
    (
        of(&["0", "30", "*", "*/7", "5-59/9", "59"]),
        of(&["0", "2", "2,14", "*", "1-3", "*/5", "23"]),
        of(&["*", "29", "30", "31", "L", "L-29", "31W", "*/28", "29,30", "1-7"]),
        of(&["*", "2", "2,4,6,9,11", "3", "11-2"]),
        of(&["*", "0", "1#5", "5L", "MON-FRI", "6,0", "0#2"]),
        of(&["*", "2026-9999", "9996", "2028/400", "9000-9999/7", "2100,2400"]),
    )
        .prop_map(|(minute, hour, date, month, weekday, year)| {
            format!("0 {minute} {hour} {date} {month} {weekday} {year}")
        })
}

fn zone() -> impl Strategy<Value = Zone> {
    let names = vec![
        "UTC",
        "America/New_York",
        "Australia/Lord_Howe",
        "Pacific/Apia",
        "Africa/Casablanca",
        "America/Nuuk",
        "Antarctica/Troll",
        "Asia/Shanghai",
    ];
    prop::sample::select(names).prop_map(|name| Zone::named(name).unwrap())
}

fn options() -> impl Strategy<Value = Options> {
    let gap = prop::sample::select(vec![DstGap::Shift, DstGap::Skip]);
    let overlap = prop::sample::select(vec![DstOverlap::First, DstOverlap::Second, DstOverlap::Both]);
    (gap, overlap).prop_map(|(dst_gap, dst_overlap)| Options {
        dst_gap,
        dst_overlap,
        ..Options::default()
    })
}

/// Any instant, to the nanosecond, from 1900 to 2500.
fn instant() -> impl Strategy<Value = Timestamp> {
    (-2_208_988_800_i64..16_725_225_600, -999_999_999..1_000_000_000)
        .prop_filter_map("sign", |(second, fraction)| Timestamp::new(second, fraction).ok())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_the_parser_panic(text in any::<String>(), quartz in any::<bool>()) {
        let _ = Timing::parse(&text, quartz.then_some(Dialect::Quartz)).map_err(|error| error.hint());
    }

    #[test]
    fn what_looks_like_an_expression_is_read_or_refused_with_a_reason(text in expression(), quartz in any::<bool>()) {
        match Timing::parse(&text, quartz.then_some(Dialect::Quartz)) {
            Ok(timing) => {
                let again = Timing::parse(&timing.to_string(), quartz.then_some(Dialect::Quartz));
                prop_assert_eq!(&again.unwrap(), &timing);
                prop_assert!(!timing.describe().is_empty());
                let timetable = Timetable::new(timing, Zone::utc(), Options::default()).unwrap();
                prop_assert!(timetable.next_after(Timestamp::from_second(-1).unwrap()).is_some(), "{text} never fires");
                prop_assert!(timetable.fires_a_day().average > 0.0);
            }
            Err(error) => prop_assert!(!error.to_string().is_empty() && !error.hint().is_empty()),
        }
    }

    #[test]
    fn fires_come_after_the_start_in_strict_order(
        text in readable(), zone in zone(), options in options(), after in instant(),
    ) {
        let Ok(timing) = Timing::parse(&text, None) else { return Ok(()) };
        let timetable = Timetable::new(timing, zone, options).unwrap();
        let mut last = after;
        for fire in timetable.fires_after(after).take(4) {
            prop_assert!(fire.at > last && fire.at.subsec_nanosecond() == 0);
            // Nothing is left out between the last fire and this one: the instant just before gives the same answer.
            let before = Timestamp::from_nanosecond(fire.at.as_nanosecond() - 1).unwrap();
            prop_assert_eq!(timetable.next_after(before), Some(fire));
            last = fire.at;
        }
    }

    #[test]
    fn no_search_takes_long(text in readable(), zone in zone(), options in options(), after in instant()) {
        let begun = Instant::now();
        let Ok(timing) = Timing::parse(&text, None) else { return Ok(()) };
        prop_assert!(begun.elapsed() < Duration::from_secs(1));
        let timetable = Timetable::new(timing, zone, options).unwrap();
        prop_assert!(best_of_five(|| timetable.next_after(after)) < limit(), "{text}");
    }
}

/// A millisecond. A build that is not optimised, on a machine that may be busy, only shows that the search ends.
fn limit() -> Duration {
    Duration::from_millis(if cfg!(debug_assertions) { 250 } else { 1 })
}

/// The shortest of five runs: what it costs on a machine that is busy with something else.
fn best_of_five<T>(run: impl Fn() -> T) -> Duration {
    let once = || {
        let begun = Instant::now();
        std::hint::black_box(run());
        begun.elapsed()
    };
    (0..5).map(|_| once()).min().unwrap()
}

#[test]
fn the_rarest_expressions_are_found_or_given_up_in_time() {
    let after: Timestamp = "2026-03-01T00:00:00Z".parse().unwrap();
    for (text, zone, gap, next) in [
        ("0 0 29 2 *", "UTC", DstGap::Shift, Some("2028-02-29T00:00:00Z")),
        (
            "0 0 0 29 2 ? 2100,2400",
            "UTC",
            DstGap::Shift,
            Some("2400-02-29T00:00:00Z"),
        ),
        ("0 0 */28 2 0", "UTC", DstGap::Shift, Some("2032-02-01T00:00:00Z")),
        (
            "0 0 0 31 12 ? 9998",
            "America/New_York",
            DstGap::Shift,
            Some("9998-12-31T05:00:00Z"),
        ),
        (
            "0 0 29 2 *",
            "Pacific/Auckland",
            DstGap::Shift,
            Some("2028-02-28T11:00:00Z"),
        ),
        // Only ever in the hour that the clock jumps over.
        ("30 2 * 3 0#2", "America/New_York", DstGap::Skip, None),
        ("*/7 2 * 3 0L", "Europe/Berlin", DstGap::Shift, None),
        ("0 30 2 8 3 ? 2026", "America/New_York", DstGap::Skip, None),
        (
            "0 30 2 8 3 ? 2026",
            "America/New_York",
            DstGap::Shift,
            Some("2026-03-08T07:00:00Z"),
        ),
        ("0 0 0 1 1 ? 2025", "UTC", DstGap::Shift, None),
    ] {
        let options = Options {
            dst_gap: gap,
            ..Options::default()
        };
        let timing = Timing::parse(text, None).unwrap();
        let timetable = Timetable::new(timing, Zone::named(zone).unwrap(), options).unwrap();
        let found = timetable.next_after(after).map(|fire| fire.at.to_string());
        assert_eq!(found.as_deref(), next, "{text} in {zone}");
        assert!(
            best_of_five(|| timetable.next_after(after)) < limit(),
            "{text} in {zone}"
        );
    }
}

#[test]
fn the_ends_of_time_are_no_trouble() {
    for zone in ["UTC", "America/New_York", "Asia/Shanghai"] {
        for text in ["* * * * * *", "0 0 29 2 *", "@every 7d", "@hourly"] {
            let timing = Timing::parse(text, None).unwrap();
            let timetable = Timetable::new(timing, Zone::named(zone).unwrap(), Options::default()).unwrap();
            assert!(timetable.next_after(Timestamp::MIN).is_some(), "{text} in {zone}");
            assert_eq!(timetable.next_after(Timestamp::MAX), None, "{text} in {zone}");
        }
    }
}
