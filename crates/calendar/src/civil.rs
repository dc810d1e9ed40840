//! Arithmetic of the proleptic Gregorian calendar on plain integers.
//!
//! A civil time is a count of seconds since 1970-01-01T00:00:00 on a wall clock, without a zone; a civil day is
//! the same count in days. Integers, because the search compares and adds them millions of times.

/// Seconds of a civil day.
pub(crate) const DAY: i64 = 86_400;

/// The last year that a search looks at, and that an instant can have.
pub(crate) const LAST_YEAR: i32 = 9999;

/// The civil day of a date. `month` and `day` count from 1.
pub(crate) const fn day_of(year: i32, month: u32, day: u32) -> i64 {
    // Years start in March, so that the leap day is the last one; eras of 400 years repeat exactly.
    let year = year as i64 - if month <= 2 { 1 } else { 0 };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month as i64 + 9) % 12) + 2) / 5 + day as i64 - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// Year, month and day of a civil day.
pub(crate) const fn date_of(day: i64) -> (i32, u32, u32) {
    let shifted = day + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = (day_of_year - (153 * month_from_march + 2) / 5 + 1) as u32;
    let month = (month_from_march + 2) as u32 % 12 + 1;
    let year = year_of_era + era * 400 + if month <= 2 { 1 } else { 0 };
    (year as i32, month, day)
}

/// 0 is Sunday.
pub(crate) const fn weekday_of(day: i64) -> u32 {
    (day + 4).rem_euclid(7) as u32
}

pub(crate) const fn is_leap(year: i32) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

pub(crate) const fn days_in_month(year: i32, month: u32) -> u32 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Which of the 14 calendars a year has: by its first weekday, and leap or not. All years of a kind have the
/// same days on the same weekdays, so what never matches in any kind never matches.
pub(crate) const fn year_kind(year: i32) -> u32 {
    weekday_of(day_of(year, 1, 1)) + if is_leap(year) { 7 } else { 0 }
}

/// A year of each kind, at the kind's index.
pub(crate) const KIND_YEARS: [i32; 14] = {
    let mut years = [0; 14];
    let mut year = 2000;
    while year < 2400 {
        years[year_kind(year) as usize] = year;
        year += 1;
    }
    years
};

/// How many of 400 successive years are of each kind.
pub(crate) const KIND_YEARS_IN_400: [u32; 14] = {
    let mut counts = [0; 14];
    let mut year = 2000;
    while year < 2400 {
        counts[year_kind(year) as usize] += 1;
        year += 1;
    }
    counts
};

/// The days of a month that fall on the given weekdays, as bits (bit 0 is the first day). `weekdays` is a set of
/// bits too, bit 0 for Sunday. Bits after the month's end may be set.
pub(crate) const fn weekday_mask(weekdays: u8, first_weekday: u32) -> u32 {
    let rotated = ((weekdays as u32) >> first_weekday | (weekdays as u32) << (7 - first_weekday)) & 0x7f;
    rotated | rotated << 7 | rotated << 14 | rotated << 21 | rotated << 28
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_four_centuries_reads_back_and_agrees_with_jiff() {
        let epoch = jiff::civil::date(1970, 1, 1);
        for day in day_of(1799, 12, 31)..day_of(2401, 1, 1) {
            let (year, month, date) = date_of(day);
            assert_eq!(day_of(year, month, date), day);
            if day % 97 == 0 {
                let expected = epoch + jiff::Span::new().days(day);
                assert_eq!(
                    (i32::from(expected.year()), expected.month() as u32),
                    (year, month)
                );
                assert_eq!(expected.day() as u32, date);
                assert_eq!(expected.weekday().to_sunday_zero_offset() as u32, weekday_of(day));
            }
        }
    }

    #[test]
    fn every_kind_of_year_stands_at_its_index() {
        for (kind, year) in KIND_YEARS.into_iter().enumerate() {
            assert_eq!(year_kind(year) as usize, kind);
        }
        assert_eq!(KIND_YEARS_IN_400.iter().sum::<u32>(), 400);
    }

    #[test]
    fn weekday_mask_names_the_days() {
        // March 2026 starts on a Sunday.
        assert_eq!(
            weekday_mask(0b000_0001, 0) & 0x7fff_ffff,
            1 | 1 << 7 | 1 << 14 | 1 << 21 | 1 << 28
        );
        // May 2026 starts on a Friday, so its first Monday is the 4th.
        assert_eq!(weekday_mask(0b000_0010, 5).trailing_zeros(), 3);
    }
}
