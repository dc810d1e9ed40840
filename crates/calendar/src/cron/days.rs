//! The two day fields: which days of a month match.

use super::Dialect;
use super::error::Error;
use super::field::{self, Field, Item, Name};
use crate::civil;

/// A rule for a day of the month that depends on the month.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DayRule {
    /// `L` (0) and `L-2`, and with `weekday` the weekday nearest it: `LW`.
    FromEnd { before: u32, weekday: bool },
    /// `15W`: the weekday (Monday to Friday) nearest the day, within its month.
    NearestWeekday(u32),
}

/// Both day fields. Weekdays count from 0 for Sunday, whatever the dialect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Days {
    pub(crate) of_month: Field,
    pub(crate) rules: Vec<DayRule>,
    pub(crate) of_week: Field,
    /// `2#2`: weekday and which one of the month.
    pub(crate) nth: Vec<(u32, u32)>,
    /// `5L`: weekdays whose last one of the month matches.
    pub(crate) last: u8,
    /// Whether a weekday was given as a number, which dialects read differently.
    pub(crate) numeric_weekday: bool,
}

impl Days {
    /// Reads both fields.
    pub(crate) fn parse(of_month: &str, of_week: &str, dialect: Dialect) -> Result<Days, Error> {
        let mut days = Days {
            of_month: Field {
                items: Vec::new(),
                bits: 0,
                starred: field::is_starred(of_month),
            },
            rules: Vec::new(),
            of_week: Field {
                items: Vec::new(),
                bits: 0,
                starred: field::is_starred(of_week),
            },
            nth: Vec::new(),
            last: 0,
            numeric_weekday: false,
        };
        for text in field::split(Name::DayOfMonth, of_month)? {
            days.read_day_of_month(text)?;
        }
        for text in field::split(Name::DayOfWeek, of_week)? {
            days.read_day_of_week(text, dialect)?;
        }
        Ok(days)
    }

    fn read_day_of_month(&mut self, text: &str) -> Result<(), Error> {
        if let Some(rule) = day_rule(text)? {
            self.rules.push(rule);
            return Ok(());
        }
        let item = field::parse_item(Name::DayOfMonth, text, field::number)?;
        self.of_month.bits |= field::item_bits(Name::DayOfMonth, item) >> 1;
        self.of_month.items.push(item);
        Ok(())
    }

    fn read_day_of_week(&mut self, text: &str, dialect: Dialect) -> Result<(), Error> {
        let weekday = |_: Name, text: &str| dialect.weekday(text);
        if let Some((day, nth)) = text.split_once('#') {
            let day = weekday(Name::DayOfWeek, day)? % 7;
            let nth = field::digits(nth).filter(|nth| (1..=5).contains(nth));
            self.nth
                .push((day, nth.ok_or_else(|| Error::NoSuchNth { text: text.into() })?));
        } else if text.eq_ignore_ascii_case("L") && dialect == Dialect::Quartz {
            self.of_week.bits |= 1 << 6;
            self.of_week.items.push(Item::One(6));
        } else if let Some(day) = text.strip_suffix(['L', 'l']).filter(|day| !day.is_empty()) {
            self.last |= 1 << (weekday(Name::DayOfWeek, day)? % 7);
        } else {
            let item = field::parse_item(Name::DayOfWeek, text, weekday)?;
            self.of_week.bits |= weekday_bits(item);
            self.of_week.items.push(normal(item));
        }
        let before_step = text.split('/').next().unwrap_or_default();
        let before_nth = before_step.split('#').next().unwrap_or_default();
        self.numeric_weekday |= before_nth.bytes().any(|byte| byte.is_ascii_digit());
        Ok(())
    }

    /// The matching days of a month, as bits (bit 0 is the first day).
    pub(crate) fn mask(&self, first_weekday: u32, length: u32) -> u32 {
        let in_month = (1u32 << length) - 1;
        let of_month = self.of_month_mask(first_weekday, length);
        let of_week = self.of_week_mask(first_weekday, length);
        let either = !self.of_month.starred && !self.of_week.starred;
        in_month
            & if either {
                of_month | of_week
            } else {
                of_month & of_week
            }
    }

    fn of_month_mask(&self, first_weekday: u32, length: u32) -> u32 {
        self.rules.iter().fold(self.of_month.bits as u32, |mask, rule| {
            let day = match *rule {
                DayRule::FromEnd {
                    before,
                    weekday: false,
                } => length.checked_sub(before),
                DayRule::FromEnd {
                    before,
                    weekday: true,
                } => length
                    .checked_sub(before)
                    .and_then(|day| nearest_weekday(day, first_weekday, length)),
                DayRule::NearestWeekday(day) => nearest_weekday(day, first_weekday, length),
            };
            mask | day
                .and_then(|day| day.checked_sub(1))
                .map_or(0, |index| 1 << index)
        })
    }

    fn of_week_mask(&self, first_weekday: u32, length: u32) -> u32 {
        let mut mask = civil::weekday_mask(self.of_week.bits as u8, first_weekday);
        for &(weekday, nth) in &self.nth {
            // Past the month's end where the month has too few: cut off with the days after it.
            mask |= 1u32
                .checked_shl((weekday + 7 - first_weekday) % 7 + 7 * (nth - 1))
                .unwrap_or(0);
        }
        if self.last != 0 {
            mask |= civil::weekday_mask(self.last, first_weekday) & (0x7f << (length - 7));
        }
        mask
    }
}

/// The Monday to Friday nearest a day, which never leaves the month; none where the month lacks the day.
fn nearest_weekday(day: u32, first_weekday: u32, length: u32) -> Option<u32> {
    if day == 0 || day > length {
        return None;
    }
    Some(match (first_weekday + day - 1) % 7 {
        6 if day == 1 => 3,
        6 => day - 1,
        0 if day == length => day - 2,
        0 => day + 1,
        _ => day,
    })
}

/// `L`, `L-2`, `LW`, `L-2W` or `15W`; none where the text is plain.
fn day_rule(text: &str) -> Result<Option<DayRule>, Error> {
    let upper = text.to_ascii_uppercase();
    let (base, weekday) = match upper.strip_suffix('W') {
        Some(base) => (base, true),
        None => (upper.as_str(), false),
    };
    let refuse = || field::unreadable(Name::DayOfMonth, text);
    if let Some(rest) = base.strip_prefix('L') {
        let before = match rest.strip_prefix('-') {
            Some(before) => field::digits(before).ok_or_else(refuse)?,
            None if rest.is_empty() => 0,
            None => return Err(refuse()),
        };
        let before = field::in_range(Name::DayOfMonth, before, 0, 30)?;
        return Ok(Some(DayRule::FromEnd { before, weekday }));
    }
    if !weekday {
        return Ok(None);
    }
    let day = field::digits(base).ok_or_else(refuse)?;
    let day = field::in_range(Name::DayOfMonth, day, 1, 31)?;
    Ok(Some(DayRule::NearestWeekday(day)))
}

/// The weekdays of an item whose values run from 0 to 7.
fn weekday_bits(item: Item) -> u64 {
    let (first, last, step) = match item {
        Item::One(day) => (day, day, 1),
        Item::Every { step } => (0, 6, step),
        Item::Span { first, last, step } if last < first => {
            (first % 7, last + if first == 7 { 0 } else { 7 }, step)
        }
        Item::Span { first, last, step } => (first, last, step),
    };
    (first..=last)
        .step_by(step as usize)
        .fold(0, |bits, day| bits | 1 << (day % 7))
}

/// The item as words show it: Sunday is 0 where it stands alone or begins, so that it has one name.
fn normal(item: Item) -> Item {
    match item {
        Item::One(day) => Item::One(day % 7),
        other => other,
    }
}

impl Dialect {
    /// A weekday: 0 to 6 from Sunday, or 7 where the dialect has a second number for Sunday.
    fn weekday(self, text: &str) -> Result<u32, Error> {
        match (field::digits(text), self) {
            (None, _) => field::number(Name::DayOfWeek, text),
            (Some(day), Dialect::Quartz) => Ok(field::in_range(Name::DayOfWeek, day, 1, 7)? - 1),
            (Some(day), Dialect::Cron) => field::in_range(Name::DayOfWeek, day, 0, 7),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The matching days of a month of 2026.
    fn days(of_month: &str, of_week: &str, month: u32) -> Vec<u32> {
        days_in(Dialect::Cron, of_month, of_week, month)
    }

    fn days_in(dialect: Dialect, of_month: &str, of_week: &str, month: u32) -> Vec<u32> {
        let first = civil::weekday_of(civil::day_of(2026, month, 1));
        let mask = Days::parse(of_month, of_week, dialect)
            .unwrap()
            .mask(first, civil::days_in_month(2026, month));
        (1..=31).filter(|day| mask >> (day - 1) & 1 == 1).collect()
    }

    #[test]
    fn last_days() {
        assert_eq!(days("L", "*", 2), [28]);
        assert_eq!(days("L-2", "*", 2), [26]);
        assert!(days("L-30", "*", 2).is_empty());
        assert_eq!(days("LW", "*", 1), [30]); // the 31st is a Saturday
        assert_eq!(days("LW", "*", 5), [29]); // the 31st is a Sunday
        assert_eq!(days("L-1W", "*", 5), [29]); // the 30th is a Saturday
    }

    #[test]
    fn nearest_weekdays_stay_in_their_month() {
        assert_eq!(days("1W", "*", 8), [3]); // the 1st is a Saturday
        assert_eq!(days("1W", "*", 11), [2]); // the 1st is a Sunday
        assert_eq!(days("31W", "*", 5), [29]); // the 31st is a Sunday
        assert!(days("31W", "*", 4).is_empty()); // no 31st
        assert_eq!(days("15W,16", "*", 8), [14, 16]);
    }

    #[test]
    fn weekdays_of_the_month() {
        assert_eq!(days("*", "2#2", 5), [12]);
        assert!(days("*", "TUE#5", 5).is_empty());
        assert_eq!(days("*", "5L,sunl", 5), [29, 31]);
        assert_eq!(days("?", "1#1,5#3", 5), [4, 15]);
    }

    #[test]
    fn ranges_of_weekdays_wrap_and_know_both_sundays() {
        assert_eq!(days("1-7", "*", 5), [1, 2, 3, 4, 5, 6, 7]); // the 1st is a Friday
        assert_eq!(days("1-7,*", "5-7", 5)[..3], [1, 2, 3]);
        for same in ["5-7", "FRI-SUN", "5-0", "5,6,0", "5/1,7"] {
            assert_eq!(days("*", same, 5)[..4], [1, 2, 3, 8], "{same}");
        }
        assert_eq!(days("*", "7-1", 5)[..3], [3, 4, 10]);
        assert_eq!(days("*", "FRI-MON/2", 5)[..3], [1, 3, 8]);
        assert_eq!(days("*", "0-7", 5).len(), 31);
    }

    #[test]
    fn quartz_counts_from_one_for_sunday() {
        assert_eq!(days_in(Dialect::Quartz, "?", "2-6", 5)[..6], [1, 4, 5, 6, 7, 8]);
        assert_eq!(days_in(Dialect::Quartz, "?", "6L", 5), [29]);
        assert_eq!(days_in(Dialect::Quartz, "?", "L", 5)[..2], [2, 9]);
        assert!(Days::parse("?", "0", Dialect::Quartz).is_err());
    }

    #[test]
    fn both_day_fields_match_either_unless_one_starts_with_a_star() {
        assert_eq!(days("13", "5", 5), [1, 8, 13, 15, 22, 29]);
        assert_eq!(days("*/2", "0,6", 5), [3, 9, 17, 23, 31]);
        assert_eq!(
            days("1-31/2", "6", 5),
            [
                1, 2, 3, 5, 7, 9, 11, 13, 15, 16, 17, 19, 21, 23, 25, 27, 29, 30, 31
            ]
        );
    }

    #[test]
    fn rules_out_of_place_are_refused() {
        for (of_month, of_week) in [
            ("L-31", "*"),
            ("0W", "*"),
            ("32W", "*"),
            ("1-5W", "*"),
            ("L/2", "*"),
            ("*", "L"),
            ("*", "2#0"),
        ] {
            assert!(
                Days::parse(of_month, of_week, Dialect::Cron).is_err(),
                "{of_month} {of_week}"
            );
        }
        assert!(Days::parse("*", "8", Dialect::Cron).is_err());
        assert!(Days::parse("WW", "*", Dialect::Cron).is_err());
        assert!(Days::parse("*", "2#6", Dialect::Cron).is_err());
    }
}
