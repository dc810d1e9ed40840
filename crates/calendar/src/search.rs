//! The search in civil time: the first wall-clock second, from a given one on, that an expression names.

use std::sync::Arc;

use crate::civil::{self, DAY};
use crate::cron::{Cron, Days, Years};
use crate::working_days::WorkingDays;

/// An expression's sets, ready to be searched, narrowed to the working days of a calendar.
#[derive(Debug, Clone)]
pub(crate) struct Search {
    seconds: u64,
    minutes: u64,
    hours: u64,
    days: Days,
    months: u64,
    years: Years,
    calendar: Option<Arc<WorkingDays>>,
    /// The kinds of years (see [`civil::year_kind`]) in which some day matches, listed days aside.
    kinds: u16,
}

impl Search {
    pub(crate) fn new(cron: &Cron, calendar: Option<Arc<WorkingDays>>) -> Search {
        let mut search = Search {
            seconds: cron.seconds.bits,
            minutes: cron.minutes.bits,
            hours: cron.hours.bits,
            days: cron.days.clone(),
            months: cron.months.bits,
            years: cron.years.clone(),
            calendar,
            kinds: 0,
        };
        for (kind, year) in civil::KIND_YEARS.into_iter().enumerate() {
            let weekend = search.calendar.as_ref().map_or(0, |calendar| calendar.weekend());
            let matches = (1..=12).any(|month| search.expression_mask(year, month, weekend) != 0);
            search.kinds |= u16::from(matches) << kind;
        }
        search
    }

    /// Whether any date matches, in any year from 1970 on.
    pub(crate) fn can_match(&self) -> bool {
        self.at_or_after(0).is_some()
    }

    /// The first matching civil second from `civil` on.
    pub(crate) fn at_or_after(&self, civil: i64) -> Option<i64> {
        let (day, second) = (civil.div_euclid(DAY), civil.rem_euclid(DAY) as u32);
        let found = self.day_at_or_after(day)?;
        if found > day {
            return Some(found * DAY + self.first_time());
        }
        match self.time_at_or_after(second) {
            Some(time) => Some(day * DAY + time),
            None => Some(self.day_at_or_after(day + 1)? * DAY + self.first_time()),
        }
    }

    /// How many of 400 years' days match, whatever the years and listed days.
    pub(crate) fn days_in_400_years(&self) -> u32 {
        let weekend = self.calendar.as_ref().map_or(0, |calendar| calendar.weekend());
        let in_year = |year| {
            (1..=12)
                .map(|month| self.expression_mask(year, month, weekend).count_ones())
                .sum::<u32>()
        };
        civil::KIND_YEARS
            .into_iter()
            .zip(civil::KIND_YEARS_IN_400)
            .map(|(year, count)| in_year(year) * count)
            .sum()
    }

    fn day_at_or_after(&self, day: i64) -> Option<i64> {
        let (year, month, date) = civil::date_of(day);
        let mut found = self.years.at_or_after(year)?;
        if found == year {
            if let Some(day) = self.day_in_year(year, month, date) {
                return Some(day);
            }
            found = self.years.at_or_after(year + 1)?;
        }
        loop {
            if let Some(day) = self.day_in_year(found, 1, 1) {
                return Some(day);
            }
            found = self.years.at_or_after(found + 1)?;
        }
    }

    /// The first matching day of a year from a date on.
    fn day_in_year(&self, year: i32, month: u32, date: u32) -> Option<i64> {
        let listed = self
            .calendar
            .as_ref()
            .is_some_and(|calendar| calendar.covers(year));
        if !listed && self.kinds >> civil::year_kind(year) & 1 == 0 {
            return None;
        }
        let mut from = u32::MAX << (date - 1);
        let mut months = self.months & u64::MAX << month;
        while months != 0 {
            let candidate = months.trailing_zeros();
            if candidate != month {
                from = u32::MAX;
            }
            let mask = self.month_mask(year, candidate) & from;
            if mask != 0 {
                return Some(civil::day_of(year, candidate, mask.trailing_zeros() + 1));
            }
            months &= months - 1;
        }
        None
    }

    fn month_mask(&self, year: i32, month: u32) -> u32 {
        let mask = self.expression_mask(year, month, 0);
        match &self.calendar {
            Some(calendar) => mask & calendar.mask(year, month),
            None => mask,
        }
    }

    /// The days of a month that the expression names, but for the given weekdays.
    fn expression_mask(&self, year: i32, month: u32, without: u8) -> u32 {
        if self.months >> month & 1 == 0 {
            return 0;
        }
        let first_weekday = civil::weekday_of(civil::day_of(year, month, 1));
        let mask = self.days.mask(first_weekday, civil::days_in_month(year, month));
        mask & !civil::weekday_mask(without, first_weekday)
    }

    fn first_time(&self) -> i64 {
        let first = |bits: u64| i64::from(bits.trailing_zeros());
        first(self.hours) * 3_600 + first(self.minutes) * 60 + first(self.seconds)
    }

    /// The first matching second of a day from `second` on.
    fn time_at_or_after(&self, second: u32) -> Option<i64> {
        let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
        let joined = |hour: u32, minute: u32, second: u32| i64::from(hour * 3_600 + minute * 60 + second);
        let (first_minute, first_second) = (self.minutes.trailing_zeros(), self.seconds.trailing_zeros());
        if self.hours >> hour & 1 == 1 {
            if self.minutes >> minute & 1 == 1
                && let Some(second) = from_bit(self.seconds, second)
            {
                return Some(joined(hour, minute, second));
            }
            if let Some(minute) = from_bit(self.minutes, minute + 1) {
                return Some(joined(hour, minute, first_second));
            }
        }
        from_bit(self.hours, hour + 1).map(|hour| joined(hour, first_minute, first_second))
    }
}

/// The lowest set bit from an index (below 64) on.
fn from_bit(bits: u64, index: u32) -> Option<u32> {
    let rest = bits & u64::MAX << index;
    (rest != 0).then(|| rest.trailing_zeros())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The next match, written `2026-03-01T09:00:00`.
    fn next(text: &str, from: &str) -> Option<String> {
        let from: jiff::civil::DateTime = from.parse().unwrap();
        let (date, time) = (from.date(), from.time());
        let civil = civil::day_of(i32::from(date.year()), date.month() as u32, date.day() as u32) * DAY
            + i64::from(time.hour()) * 3_600
            + i64::from(time.minute()) * 60
            + i64::from(time.second());
        let found = Search::new(&Cron::parse(text, None).unwrap(), None).at_or_after(civil)?;
        Some(crate::civil_time::CivilTime::from_seconds(found).to_string())
    }

    #[test]
    fn finds_the_second_itself_and_the_one_after() {
        assert_eq!(
            next("0 9 * * *", "2026-03-01T09:00:00").unwrap(),
            "2026-03-01T09:00:00"
        );
        assert_eq!(
            next("0 9 * * *", "2026-03-01T09:00:01").unwrap(),
            "2026-03-02T09:00:00"
        );
        assert_eq!(
            next("59 59 23 31 12 *", "2026-12-31T23:59:59").unwrap(),
            "2026-12-31T23:59:59"
        );
        assert_eq!(
            next("30 10,20 9,11 * * *", "2026-03-01T09:10:31").unwrap(),
            "2026-03-01T09:20:30"
        );
        assert_eq!(
            next("30 10,20 9,11 * * *", "2026-03-01T09:20:31").unwrap(),
            "2026-03-01T11:10:30"
        );
    }

    #[test]
    fn rare_dates_are_found_however_far() {
        assert_eq!(
            next("0 0 29 2 *", "2096-03-01T00:00:00").unwrap(),
            "2104-02-29T00:00:00"
        );
        assert_eq!(
            next("0 0 */29 2 1", "2026-03-01T00:00:00").unwrap(),
            "2027-02-01T00:00:00"
        );
        assert_eq!(
            next("0 0 0 29 2 */6", "2072-03-01T00:00:00").unwrap(),
            "2076-02-29T00:00:00"
        );
        assert_eq!(
            next("0 0 0 29 2 *,6 9000-9999", "2026-03-01T00:00:00").unwrap(),
            "9004-02-29T00:00:00"
        );
        assert_eq!(next("0 0 0 1 1 * 2026", "2026-01-01T00:00:01"), None);
    }
}
