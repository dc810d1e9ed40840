//! The slow and plain way to say when something fires: look at the clock at every step, and note what it shows, what
//! it shows again, and what it jumps over. It shares no code with the crate; dates come from jiff.

use std::collections::BTreeMap;

use gengfu_calendar::{DstGap, DstOverlap};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, civil};

/// What a clock shows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    pub(crate) month: i8,
    pub(crate) day: i8,
    pub(crate) days_in_month: i8,
    /// 0 is Sunday.
    pub(crate) weekday: i8,
    pub(crate) hour: i64,
    pub(crate) minute: i64,
    pub(crate) second: i64,
}

/// An expression, and the same in Rust.
pub(crate) struct Expression {
    pub(crate) cron: &'static str,
    pub(crate) is_fixed: bool,
    pub(crate) matches: fn(&Clock) -> bool,
}

/// What a zone's clock shows at every step of a window.
pub(crate) struct Window {
    /// Seconds between two looks.
    step: i64,
    /// Instant, civil second, and what it means. Steps that a jump left out have the jump's instant.
    looks: Vec<(i64, i64, Clock, Seen)>,
}

/// How a civil time comes about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    Shown,
    /// Left out by a jump of so many seconds.
    Missed(i64),
}

const DAY: i64 = 86_400;

impl Window {
    pub(crate) fn new(tz: &TimeZone, from: i64, to: i64, step: i64) -> Window {
        let mut window = Window {
            step,
            looks: Vec::new(),
        };
        let mut dates = BTreeMap::new();
        let mut shown: Option<i64> = None;
        for at in (from..=to).step_by(step as usize) {
            let offset = tz.to_offset(Timestamp::from_second(at).unwrap()).seconds();
            let civil = at + i64::from(offset);
            let expected = shown.map_or(civil, |shown| shown + step);
            for missed in (expected..civil).step_by(step as usize) {
                window.looks.push((
                    at,
                    missed,
                    clock(&mut dates, missed),
                    Seen::Missed(civil - expected),
                ));
            }
            window
                .looks
                .push((at, civil, clock(&mut dates, civil), Seen::Shown));
            shown = Some(civil);
        }
        window
    }

    /// The fires of an expression from one instant to another, both included.
    pub(crate) fn fires(
        &self,
        expression: &Expression,
        gap: DstGap,
        overlap: DstOverlap,
        from: i64,
        to: i64,
    ) -> Vec<i64> {
        let mut seen: BTreeMap<i64, Vec<(i64, Seen)>> = BTreeMap::new();
        for (at, civil, clock, how) in &self.looks {
            if (expression.matches)(clock) {
                seen.entry(*civil).or_default().push((*at, *how));
            }
        }
        let mut fires: Vec<i64> = match expression.is_fixed {
            true => seen.values().flat_map(|seen| fixed(seen, gap, overlap)).collect(),
            false => seen
                .values()
                .flatten()
                .filter(|(_, how)| *how == Seen::Shown)
                .map(|(at, _)| *at)
                .collect(),
        };
        fires.sort_unstable();
        fires.dedup();
        fires.retain(|at| (from..=to).contains(at));
        fires
    }

    /// Whether every offset and change of the window lies on a step.
    pub(crate) fn is_exact(&self) -> bool {
        self.looks
            .iter()
            .all(|(at, civil, ..)| (at - civil) % self.step == 0)
    }
}

fn fixed(seen: &[(i64, Seen)], gap: DstGap, overlap: DstOverlap) -> Vec<i64> {
    let shown = || seen.iter().copied().filter(|(_, how)| *how == Seen::Shown);
    let chosen: Vec<(i64, Seen)> = match overlap {
        DstOverlap::First => seen.first().copied().into_iter().collect(),
        DstOverlap::Second => seen.last().copied().into_iter().collect(),
        DstOverlap::Both if shown().next().is_none() => seen.first().copied().into_iter().collect(),
        DstOverlap::Both => shown().collect(),
    };
    let fires = |(at, how): (i64, Seen)| match how {
        Seen::Shown => Some(at),
        Seen::Missed(jump) => (gap == DstGap::Shift && jump < DAY).then_some(at),
    };
    chosen.into_iter().filter_map(fires).collect()
}

/// What a clock shows at a civil second; dates are kept, as jiff's arithmetic is slow in a debug build.
pub(crate) fn clock(dates: &mut BTreeMap<i64, civil::Date>, at: i64) -> Clock {
    let (day, second) = (at.div_euclid(DAY), at.rem_euclid(DAY));
    let date = dates
        .entry(day)
        .or_insert_with(|| civil::date(1970, 1, 1) + Span::new().days(day));
    Clock {
        month: date.month(),
        day: date.day(),
        days_in_month: date.days_in_month(),
        weekday: date.weekday().to_sunday_zero_offset(),
        hour: second / 3_600,
        minute: second / 60 % 60,
        second: second % 60,
    }
}
