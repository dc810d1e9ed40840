//! A zone as a row of stretches of constant offset; between them a gap or an overlap.

use jiff::Timestamp;

use super::Zone;
use crate::civil::DAY;

/// Further back or ahead than this (in seconds), a change of the clock can't matter to a wall-clock time: offsets lie
/// within 26 hours of UTC, so two of them are less than 52 hours apart.
pub(crate) const REACH: i64 = 3 * DAY;

/// The time between two changes of a zone's offset. All in seconds; instants since the epoch, civil times as in
/// [`crate::civil`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stretch {
    /// Its first instant; `i64::MIN` where no change is within reach.
    pub(crate) start: i64,
    /// The first instant after it; `i64::MAX` where none comes.
    pub(crate) end: i64,
    /// Civil time minus instant.
    pub(crate) offset: i64,
    /// The offset before `start`.
    pub(crate) before: i64,
    /// The offset from `end` on.
    pub(crate) after: i64,
    /// The first civil second that no clock showed before the change at `start`.
    pub(crate) high_before: i64,
    /// The first civil second that no clock showed before `start`, after the change: what lies below it in this
    /// stretch is a second pass.
    pub(crate) high: i64,
}

impl Zone {
    /// The stretch that holds an instant.
    pub(crate) fn stretch_at(&self, at: i64) -> Stretch {
        let from = at.saturating_sub(REACH);
        let offset = self.offset_at(from);
        let mut stretch = Stretch {
            start: i64::MIN,
            end: i64::MAX,
            offset,
            before: offset,
            after: offset,
            high_before: i64::MIN,
            high: i64::MIN,
        };
        for (change, offset) in self.changes_after(from) {
            if offset == stretch.offset {
                continue;
            }
            if change > at {
                stretch.end = change;
                stretch.after = offset;
                break;
            }
            stretch.high_before = stretch.high;
            stretch.high = stretch.high.max(change + stretch.offset);
            stretch.before = stretch.offset;
            stretch.start = change;
            stretch.offset = offset;
        }
        stretch.after = if stretch.end == i64::MAX {
            stretch.offset
        } else {
            stretch.after
        };
        stretch
    }

    /// The lowest civil second that a clock shows again after a change that follows `at`; `i64::MAX` without one
    /// within reach. What lies at or above it comes once more.
    pub(crate) fn low_after(&self, at: i64) -> i64 {
        let near = self
            .changes_after(at)
            .take_while(|(change, _)| *change <= at.saturating_add(REACH));
        near.map(|(change, offset)| change + offset)
            .min()
            .unwrap_or(i64::MAX)
    }

    fn offset_at(&self, at: i64) -> i64 {
        i64::from(self.tz.to_offset(instant(at)).seconds())
    }

    /// The changes of the zone's rules after an instant, each with the offset that it brings; some bring none.
    fn changes_after(&self, at: i64) -> impl Iterator<Item = (i64, i64)> + '_ {
        let changes = self.tz.following(instant(at));
        changes.map(|change| {
            (
                change.timestamp().as_second(),
                i64::from(change.offset().seconds()),
            )
        })
    }
}

/// The instant of a count of seconds, or the nearest that there is.
pub(crate) fn instant(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap_or(if seconds < 0 {
        Timestamp::MIN
    } else {
        Timestamp::MAX
    })
}

impl Stretch {
    /// Whether the civil day (counted from 1970-01-01) is one on which the clock changes at either end.
    pub(crate) fn changes_on(&self, day: i64) -> bool {
        let touched = |change: i64, before: i64, after: i64| {
            let (low, high) = (change + before.min(after), change + before.max(after) - 1);
            (low.div_euclid(DAY)..=high.div_euclid(DAY)).contains(&day)
        };
        (self.start != i64::MIN && touched(self.start, self.before, self.offset))
            || (self.end != i64::MAX && touched(self.end, self.offset, self.after))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stretch(zone: &str, at: &str) -> Stretch {
        Zone::named(zone)
            .unwrap()
            .stretch_at(at.parse::<Timestamp>().unwrap().as_second())
    }

    #[test]
    fn a_stretch_holds_its_start_and_not_its_end() {
        let change = "2026-03-08T07:00:00Z".parse::<Timestamp>().unwrap().as_second();
        let before = stretch("America/New_York", "2026-03-08T06:59:59Z");
        assert_eq!(
            (before.end, before.offset, before.after),
            (change, -5 * 3_600, -4 * 3_600)
        );
        let after = stretch("America/New_York", "2026-03-08T07:00:00Z");
        assert_eq!(
            (after.start, after.before, after.offset),
            (change, -5 * 3_600, -4 * 3_600)
        );
        assert_eq!(after.high, change - 5 * 3_600);
    }

    #[test]
    fn a_change_marks_the_day_that_is_shorter_or_longer() {
        // The gap from 00:00 to 01:00 belongs to 4 November, the overlap from 24:00 to 23:00 to 17 February.
        let spring = stretch("America/Sao_Paulo", "2018-11-04T12:00:00Z");
        let days = |day: u32, month| crate::civil::day_of(2018, month, day);
        assert!(
            spring.changes_on(days(4, 11))
                && !spring.changes_on(days(3, 11))
                && !spring.changes_on(days(5, 11))
        );
        let autumn = stretch("America/Sao_Paulo", "2018-02-18T12:00:00Z");
        assert!(autumn.changes_on(days(17, 2)) && !autumn.changes_on(days(18, 2)));
    }

    #[test]
    fn a_new_name_for_the_same_offset_is_no_change_of_the_clock() {
        // Lisbon's summer time became its standard time at 02:00 on 1992-09-27.
        let autumn = stretch("Europe/Lisbon", "1992-09-27T12:00:00Z");
        assert!(!autumn.changes_on(crate::civil::day_of(1992, 9, 27)));
        assert_eq!(
            autumn.end,
            "1993-03-28T01:00:00Z".parse::<Timestamp>().unwrap().as_second()
        );
    }

    #[test]
    fn a_zone_without_changes_is_one_stretch() {
        let utc = stretch("UTC", "2026-03-08T07:00:00Z");
        assert_eq!((utc.start, utc.end, utc.offset), (i64::MIN, i64::MAX, 0));
    }
}
