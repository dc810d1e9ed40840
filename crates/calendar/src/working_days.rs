//! Calendars of working days: named lists of days off and make-up days on, with the years that they cover.
//!
//! A day is worked where it is listed as on; else not where it is listed as off or falls on the weekend.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::civil;

/// The most years that one calendar covers.
pub const MAX_YEARS: usize = 100;

/// Why a calendar is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Neither a date nor a range of dates.
    #[error("{text:?} in calendar {calendar:?} is no day")]
    NoDay {
        /// The calendar's name.
        calendar: String,
        /// What stands there.
        text: String,
    },
    /// A day outside the years that the calendar says it covers.
    #[error("the day {text} lies outside the years that calendar {calendar:?} covers")]
    DayNotCovered {
        /// The calendar's name.
        calendar: String,
        /// The day or range.
        text: String,
    },
    /// No years, too many, or backward.
    #[error("the years {text:?} of calendar {calendar:?} are not usable")]
    Years {
        /// The calendar's name.
        calendar: String,
        /// What stands there.
        text: String,
    },
    /// Not a weekday, or all seven.
    #[error("the weekend {text:?} of calendar {calendar:?} is not usable")]
    Weekend {
        /// The calendar's name.
        calendar: String,
        /// What stands there.
        text: String,
    },
}

impl Error {
    /// What to write instead.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Error::NoDay { .. } => {
                "write a day as `2026-10-01`, and a range with both ends as `2026-10-01..2026-10-07`"
            }
            Error::DayNotCovered { .. } => "add its year to `years`, once all days of that year are known",
            Error::Years { .. } => {
                "write a year as `2026`, or first and last as `2026-2028`; at most 100 years"
            }
            Error::Weekend { .. } => {
                "name one to six days, as in `[sat, sun]`; `[]` means that no weekday is off"
            }
        }
        .into()
    }
}

/// A calendar as it is declared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The name that schedules refer to.
    pub name: String,
    /// Which edition of the lists this is.
    #[serde(default)]
    pub version: String,
    /// The years whose days are all known: `2026` or `2026-2028`.
    pub years: String,
    /// The weekdays that are off unless listed as on.
    #[serde(default = "saturday_and_sunday")]
    pub weekend: Vec<String>,
    /// Days off: `2026-10-01` or `2026-10-01..2026-10-07`.
    #[serde(default)]
    pub off: Vec<String>,
    /// Make-up working days, which win over days off.
    #[serde(default)]
    pub on: Vec<String>,
}

fn saturday_and_sunday() -> Vec<String> {
    vec!["sat".into(), "sun".into()]
}

/// A calendar, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkingDays {
    name: String,
    version: String,
    first_year: i32,
    weekend: u8,
    /// Per month from January of the first year on: the working days, bit 0 for the first.
    months: Vec<u32>,
}

impl WorkingDays {
    /// Checks a declaration.
    ///
    /// # Errors
    /// Where a day, the years or the weekend can't be read, or a day lies outside the years.
    pub fn new(spec: &Spec) -> Result<WorkingDays, Error> {
        let years = parse_years(spec)?;
        let mut calendar = WorkingDays {
            name: spec.name.clone(),
            version: spec.version.clone(),
            first_year: *years.start(),
            weekend: parse_weekend(spec)?,
            months: Vec::new(),
        };
        for year in years {
            calendar
                .months
                .extend((1..=12).map(|month| weekdays_of(calendar.weekend, year, month)));
        }
        for day in calendar.days(&spec.off)? {
            let (month, bit) = calendar.index(day);
            calendar.months[month] &= !bit;
        }
        for day in calendar.days(&spec.on)? {
            let (month, bit) = calendar.index(day);
            calendar.months[month] |= bit;
        }
        Ok(calendar)
    }

    /// The name that schedules refer to.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Which edition of the lists this is; may be empty.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The years whose days are all known.
    #[must_use]
    pub fn years(&self) -> RangeInclusive<i32> {
        self.first_year..=self.first_year + (self.months.len() / 12) as i32 - 1
    }

    /// Whether the lists speak for this year. In other years only the weekend is off.
    #[must_use]
    pub fn covers(&self, year: i32) -> bool {
        self.years().contains(&year)
    }

    /// Whether a day (month and day from 1) is worked.
    #[must_use]
    pub fn is_working(&self, year: i32, month: u32, day: u32) -> bool {
        (1..=12).contains(&month) && (1..=31).contains(&day) && self.mask(year, month) >> (day - 1) & 1 == 1
    }

    /// The weekdays off, bit 0 for Sunday.
    pub(crate) fn weekend(&self) -> u8 {
        self.weekend
    }

    /// The working days of a month, bit 0 for the first.
    pub(crate) fn mask(&self, year: i32, month: u32) -> u32 {
        let index = (year - self.first_year) * 12 + month as i32 - 1;
        let listed = usize::try_from(index)
            .ok()
            .and_then(|index| self.months.get(index));
        listed
            .copied()
            .unwrap_or_else(|| weekdays_of(self.weekend, year, month))
    }

    /// The first working civil day from one on; none where there is none for longer than any list.
    pub(crate) fn day_at_or_after(&self, day: i64) -> Option<i64> {
        let is_working = |day: &i64| {
            let (year, month, date) = civil::date_of(*day);
            self.is_working(year, month, date)
        };
        (day..day + 366 * (MAX_YEARS as i64 + 1)).find(is_working)
    }

    fn index(&self, day: i64) -> (usize, u32) {
        let (year, month, date) = civil::date_of(day);
        (
            ((year - self.first_year) * 12 + month as i32 - 1) as usize,
            1 << (date - 1),
        )
    }

    /// The civil days of a list, each within the years.
    fn days(&self, texts: &[String]) -> Result<BTreeSet<i64>, Error> {
        let mut days = BTreeSet::new();
        for text in texts {
            let no_day = || Error::NoDay {
                calendar: self.name.clone(),
                text: text.clone(),
            };
            let (first, last) = text.split_once("..").unwrap_or((text, text));
            let (first, last) = (
                parse_day(first).ok_or_else(no_day)?,
                parse_day(last).ok_or_else(no_day)?,
            );
            if last < first {
                return Err(no_day());
            }
            if !self.covers(civil::date_of(first).0) || !self.covers(civil::date_of(last).0) {
                return Err(Error::DayNotCovered {
                    calendar: self.name.clone(),
                    text: text.clone(),
                });
            }
            days.extend(first..=last);
        }
        Ok(days)
    }
}

/// The days of a month that are no weekend.
fn weekdays_of(weekend: u8, year: i32, month: u32) -> u32 {
    let mask = civil::weekday_mask(!weekend & 0x7f, civil::weekday_of(civil::day_of(year, month, 1)));
    mask & ((1 << civil::days_in_month(year, month)) - 1)
}

fn parse_day(text: &str) -> Option<i64> {
    let date: jiff::civil::Date = text.trim().parse().ok()?;
    // jiff also reads a date out of a longer text, such as a date with a time.
    (text.trim().len() == 10)
        .then(|| civil::day_of(i32::from(date.year()), date.month() as u32, date.day() as u32))
}

fn parse_years(spec: &Spec) -> Result<RangeInclusive<i32>, Error> {
    let (first, last) = spec.years.split_once('-').unwrap_or((&spec.years, &spec.years));
    let year = |text: &str| {
        text.trim()
            .parse::<i32>()
            .ok()
            .filter(|year| (1970..=civil::LAST_YEAR).contains(year))
    };
    match (year(first), year(last)) {
        (Some(first), Some(last)) if first <= last && ((last - first) as usize) < MAX_YEARS => {
            Ok(first..=last)
        }
        _ => Err(Error::Years {
            calendar: spec.name.clone(),
            text: spec.years.clone(),
        }),
    }
}

fn parse_weekend(spec: &Spec) -> Result<u8, Error> {
    let names = crate::cron::FieldName::DayOfWeek.names();
    let refuse = |text: &str| Error::Weekend {
        calendar: spec.name.clone(),
        text: text.into(),
    };
    let mut weekend = 0;
    for text in &spec.weekend {
        let day = names
            .iter()
            .position(|name| name.eq_ignore_ascii_case(text))
            .ok_or_else(|| refuse(text))?;
        weekend |= 1 << day;
    }
    if weekend == 0x7f {
        Err(refuse(&spec.weekend.join(", ")))
    } else {
        Ok(weekend)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> Spec {
        Spec {
            name: "cn".into(),
            version: "2026-1".into(),
            years: "2026".into(),
            weekend: saturday_and_sunday(),
            off: vec!["2026-01-01".into(), "2026-10-01..2026-10-10".into()],
            on: vec!["2026-10-10".into()],
        }
    }

    #[test]
    fn make_up_days_win_over_days_off_and_weekends() {
        let calendar = WorkingDays::new(&spec()).unwrap();
        assert!(!calendar.is_working(2026, 1, 1));
        assert!(calendar.is_working(2026, 1, 2));
        assert!(!calendar.is_working(2026, 1, 3)); // a Saturday
        assert!(!calendar.is_working(2026, 10, 7)); // a Wednesday off
        assert!(calendar.is_working(2026, 10, 10)); // a Saturday, listed both ways
        assert!(!calendar.is_working(2026, 2, 30));
    }

    #[test]
    fn other_years_have_only_weekends() {
        let calendar = WorkingDays::new(&spec()).unwrap();
        assert!(calendar.covers(2026) && !calendar.covers(2027) && !calendar.covers(2025));
        assert!(calendar.is_working(2027, 1, 1) && !calendar.is_working(2027, 1, 2));
        assert!(calendar.is_working(2025, 1, 1));
    }

    #[test]
    fn what_is_unclear_is_refused() {
        let refused = |change: fn(&mut Spec)| {
            let mut changed = spec();
            change(&mut changed);
            let error = WorkingDays::new(&changed).unwrap_err();
            assert!(!error.hint().is_empty() && error.to_string().contains("cn"));
        };
        refused(|spec| spec.off.push("2027-01-01".into()));
        refused(|spec| spec.on.push("2026-02-30".into()));
        refused(|spec| spec.off.push("2026-10-07..2026-10-01".into()));
        refused(|spec| spec.off.push("2026-10-01T00:00".into()));
        refused(|spec| spec.years = "2027-2026".into());
        refused(|spec| spec.years = "1970-9999".into());
        refused(|spec| spec.weekend = vec!["saturday".into()]);
        refused(|spec| {
            spec.weekend = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
                .map(String::from)
                .to_vec()
        });
    }
}
