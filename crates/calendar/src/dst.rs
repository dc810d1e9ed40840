//! From civil time to instants: where an expression's wall-clock times fall in a zone whose clock jumps.
//!
//! A *fixed time* fires when the zone's clock reaches it for the first time, also where the clock jumps over it
//! (then at the first instant after the gap). An *interval* fires whenever the clock shows it.

use serde::{Deserialize, Serialize};

use crate::civil::DAY;
use crate::fire::Found;
use crate::search::Search;
use crate::zone::{REACH, Stretch, Zone};

/// After so many stretches without a fire none will come: rules of zones and calendars repeat every 400 years, with a
/// few changes a year.
const MAX_STRETCHES: usize = 1_400;

/// What becomes of a fixed time that the clock jumps over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DstGap {
    /// It fires once, at the first instant after the gap, unless a whole day or more is missing.
    #[default]
    Shift,
    /// It does not fire.
    Skip,
}

/// On which pass a fixed time fires that the clock shows twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DstOverlap {
    /// On the first.
    #[default]
    First,
    /// On the last.
    Second,
    /// On each.
    Both,
}

/// How an expression follows the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Policy {
    Fixed { gap: DstGap, overlap: DstOverlap },
    Interval,
}

impl Policy {
    /// On which pass a time fires; none where it fires as often as the clock shows it, whatever the policy.
    fn passes(self) -> Option<DstOverlap> {
        match self {
            Policy::Fixed { overlap, .. } => Some(overlap),
            Policy::Interval => None,
        }
    }
}

/// The first fire at or after an instant (in seconds).
pub(crate) fn first_from(search: &Search, zone: &Zone, policy: Policy, mut from: i64) -> Option<Found> {
    for _ in 0..MAX_STRETCHES {
        let stretch = zone.stretch_at(from);
        if from == stretch.start
            && let Some(missed) = missed_in_gap(search, zone, policy, &stretch)
        {
            return Some(Found {
                at: from,
                shifted_from: Some(missed),
                stretch,
            });
        }
        let mut civil = from + stretch.offset;
        if policy.passes() == Some(DstOverlap::First) {
            civil = civil.max(stretch.high);
        }
        let next = search.at_or_after(civil);
        if let Some(at) = next.map(|civil| civil - stretch.offset)
            && at < stretch.end
            && !(policy.passes() == Some(DstOverlap::Second) && comes_again(zone, &stretch, at))
        {
            return Some(Found {
                at,
                shifted_from: None,
                stretch,
            });
        }
        from = resume(&stretch, from, next)?;
    }
    None
}

/// The first civil time that the gap at the stretch's start swallowed and that has to fire at its end.
fn missed_in_gap(search: &Search, zone: &Zone, policy: Policy, stretch: &Stretch) -> Option<i64> {
    let Policy::Fixed {
        gap: DstGap::Shift,
        overlap,
    } = policy
    else {
        return None;
    };
    if !(1..DAY).contains(&(stretch.offset - stretch.before)) {
        return None;
    }
    let (mut low, mut high) = (stretch.start + stretch.before, stretch.start + stretch.offset);
    // A clock set back shortly before or after may show some of these times all the same.
    if overlap != DstOverlap::Second {
        low = low.max(stretch.high_before);
    }
    if overlap != DstOverlap::First {
        high = high.min(zone.low_after(stretch.start));
    }
    search.at_or_after(low).filter(|missed| *missed < high)
}

/// Whether the clock will show once more what it shows at an instant of the stretch.
fn comes_again(zone: &Zone, stretch: &Stretch, at: i64) -> bool {
    at + stretch.offset >= zone.low_after(at)
}

/// Where the search goes on after a stretch in which nothing fires: at its end, or just before `next`, the first
/// match on the wall clock, where that is far away and no clock set back can show anything earlier.
fn resume(stretch: &Stretch, from: i64, next: Option<i64>) -> Option<i64> {
    let is_monotone = stretch.end >= from.saturating_add(REACH);
    match next {
        _ if stretch.end == i64::MAX => None,
        None if is_monotone => None,
        Some(next) if is_monotone => Some(stretch.end.max(next - REACH)),
        _ => Some(stretch.end),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::civil;
    use crate::cron::Cron;

    /// The fires of 10 April 2026, in minutes after midnight UTC.
    fn fires(cron: &str, zone: &str, overlap: DstOverlap) -> Vec<i64> {
        let search = Search::new(&Cron::parse(cron, None).unwrap(), None);
        let policy = Policy::Fixed {
            gap: DstGap::Shift,
            overlap,
        };
        let midnight = civil::day_of(2026, 4, 10) * DAY;
        let mut from = midnight;
        let next = || {
            let found = first_from(&search, &Zone::imagined(zone), policy, from)?;
            from = found.at + 1;
            (found.at < midnight + DAY).then_some((found.at - midnight) / 60)
        };
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn a_clock_set_back_soon_after_a_gap_shows_times_that_were_missed() {
        // At 02:00 to 03:00, and half an hour later, at 03:30, back to 02:30.
        let zone = "AAA0BBB,J100/2,J100/3:30";
        for (cron, first, second, both) in [
            ("10 2 * * *", vec![120], vec![120], vec![120]),
            ("40 2 * * *", vec![120], vec![160], vec![160]),
            ("10 3 * * *", vec![130], vec![190], vec![130, 190]),
        ] {
            assert_eq!(fires(cron, zone, DstOverlap::First), first, "{cron}, first");
            assert_eq!(fires(cron, zone, DstOverlap::Second), second, "{cron}, second");
            assert_eq!(fires(cron, zone, DstOverlap::Both), both, "{cron}, both");
        }
    }

    #[test]
    fn a_gap_soon_after_a_clock_set_back_misses_only_what_was_never_shown() {
        // At 03:30 back to 02:30, and ten minutes later, at 02:40, to 03:40.
        let zone = "AAA0BBB,J100/2:40,J100/3:30";
        for (cron, first, second, both) in [
            ("35 2 * * *", vec![95], vec![155], vec![95, 155]),
            ("10 3 * * *", vec![130], vec![160], vec![130]),
            ("35 3 * * *", vec![160], vec![160], vec![160]),
        ] {
            assert_eq!(fires(cron, zone, DstOverlap::First), first, "{cron}, first");
            assert_eq!(fires(cron, zone, DstOverlap::Second), second, "{cron}, second");
            assert_eq!(fires(cron, zone, DstOverlap::Both), both, "{cron}, both");
        }
    }
}
