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
