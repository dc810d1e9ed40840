//! A wall clock's reading, without a zone.

use std::fmt;

use crate::civil::{self, DAY};

/// A wall clock's reading, to the second. It is shown as `2026-03-08T02:30:00`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CivilTime(i64);

impl CivilTime {
    pub(crate) const fn from_seconds(seconds: i64) -> CivilTime {
        CivilTime(seconds)
    }

    /// Year, month (from 1) and day of the month (from 1).
    #[must_use]
    pub const fn date(self) -> (i32, u32, u32) {
        civil::date_of(self.0.div_euclid(DAY))
    }

    /// Hour, minute and second.
    #[must_use]
    pub const fn time(self) -> (u32, u32, u32) {
        let second = self.0.rem_euclid(DAY) as u32;
        (second / 3_600, second / 60 % 60, second % 60)
    }

    /// Three letters: `Mon`.
    #[must_use]
    pub const fn weekday(self) -> &'static str {
        ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"][civil::weekday_of(self.0.div_euclid(DAY)) as usize]
    }
}

impl fmt::Display for CivilTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ((year, month, day), (hour, minute, second)) = (self.date(), self.time());
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"
        )
    }
}
