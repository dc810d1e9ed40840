//! One fire of a timetable, and what is worth knowing about it.

use jiff::Timestamp;

use crate::civil::{self, DAY};
use crate::civil_time::CivilTime;
use crate::zone::Stretch;

/// A fire as the search finds it, in seconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found {
    pub(crate) at: i64,
    pub(crate) shifted_from: Option<i64>,
    pub(crate) stretch: Stretch,
}

/// One planned instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fire {
    /// The planned instant, in whole seconds.
    pub at: Timestamp,
    /// What the zone's clock shows at it.
    pub local: CivilTime,
    /// The zone's offset at it, in seconds east of UTC.
    pub offset_seconds: i32,
    /// What a preview shows beside it.
    pub marks: Marks,
}

/// What is unusual about a fire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Marks {
    /// The zone's clock changes on this day.
    pub clock_changes: bool,
    /// The (first) wall-clock time that the clock jumped over, and that this fire makes up for.
    pub shifted_from: Option<CivilTime>,
    /// The clock shows this time for the second time.
    pub second_pass: bool,
    /// The working-day calendar does not cover this year: days off other than the weekend are not known.
    pub uncovered_year: Option<i32>,
}

impl Marks {
    /// The marks in words; none for an ordinary fire.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        if self.clock_changes {
            words.push("clock changes on this day".into());
        }
        if let Some(time) = self.shifted_from {
            words.push(format!("in place of {time}, which the clock jumps over"));
        }
        if self.second_pass {
            words.push("second pass of this time".into());
        }
        if let Some(year) = self.uncovered_year {
            words.push(format!("calendar does not cover {year}"));
        }
        words
    }
}

impl Found {
    /// The fire; none past the last instant that can be told.
    pub(crate) fn into_fire(self) -> Option<Fire> {
        let civil = self.at + self.stretch.offset;
        let marks = Marks {
            clock_changes: self.stretch.changes_on(civil.div_euclid(DAY)),
            shifted_from: self.shifted_from.map(CivilTime::from_seconds),
            second_pass: civil < self.stretch.high,
            uncovered_year: None,
        };
        Some(Fire {
            at: Timestamp::from_second(self.at).ok()?,
            local: CivilTime::from_seconds(civil),
            offset_seconds: i32::try_from(self.stretch.offset).ok()?,
            marks,
        })
    }

    /// The year whose calendar decided about the fire: that of the wall-clock time that was meant.
    pub(crate) fn year(&self) -> i32 {
        civil::date_of(
            self.shifted_from
                .unwrap_or(self.at + self.stretch.offset)
                .div_euclid(DAY),
        )
        .0
    }
}

/// The instant with its offset, as RFC 3339: `2026-03-08T03:00:00-04:00`.
impl std::fmt::Display for Fire {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match jiff::tz::Offset::from_seconds(self.offset_seconds) {
            Ok(offset) => write!(f, "{}", self.at.display_with_offset(offset)),
            Err(_) => write!(f, "{}", self.at),
        }
    }
}
