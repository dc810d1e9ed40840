//! When a schedule fires: the one function behind preview and firing.

use std::sync::Arc;

use jiff::Timestamp;

use crate::civil::{self, DAY};
use crate::dst::{self, DstGap, DstOverlap, Policy};
use crate::every::Every;
use crate::fire::{Fire, Found};
use crate::search::Search;
use crate::timing::Timing;
use crate::working_days::WorkingDays;
use crate::zone::Zone;

/// How many off days in a row an interval steps over before it is taken to have no further fire.
const MAX_STEPS: usize = 2_000;

/// What a timetable is made of besides its rule and zone. The default is no bound, no calendar, `shift` and `first`.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// No fire comes before it; a fixed interval counts from it.
    pub start: Option<Timestamp>,
    /// No fire comes at or after it.
    pub end: Option<Timestamp>,
    /// What becomes of a fixed time that the clock jumps over.
    pub dst_gap: DstGap,
    /// On which pass a fixed time fires that the clock shows twice.
    pub dst_overlap: DstOverlap,
    /// Fires only on its working days, by the date that the zone's clock shows.
    pub calendar: Option<Arc<WorkingDays>>,
}

/// Why rule and options don't fit together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// `end` is not after `start`.
    #[error("the schedule ends at {end}, not after its start at {start}")]
    EndsBeforeStart {
        /// The start.
        start: Timestamp,
        /// The end.
        end: Timestamp,
    },
    /// The single instant lies outside start and end, or on a day off.
    #[error("the schedule can never fire: {at} lies outside its start and end, or on a day off")]
    InstantExcluded {
        /// The instant.
        at: Timestamp,
    },
    /// All days of the expression are days off.
    #[error("the schedule can never fire: no day of {cron:?} is a working day of calendar {calendar:?}")]
    OnlyDaysOff {
        /// The expression.
        cron: String,
        /// The calendar's name.
        calendar: String,
    },
}

impl Error {
    /// What to write instead.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Error::EndsBeforeStart { .. } => "put `end` after `start`",
            Error::InstantExcluded { .. } => "leave `start`, `end` and `calendar` out for a single instant",
            Error::OnlyDaysOff { .. } => "leave the calendar out, or choose days that it does not take off",
        }
        .into()
    }
}

#[derive(Debug, Clone)]
enum Rule {
    Cron { search: Search, policy: Policy },
    Every(Every),
    At(i64),
}

/// When a schedule fires. Its answers depend on nothing but what it was made of and the zone's rules.
#[derive(Debug, Clone)]
pub struct Timetable {
    timing: Timing,
    zone: Zone,
    options: Options,
    rule: Rule,
}

impl Timetable {
    /// Puts a rule, a zone and options together.
    ///
    /// # Errors
    /// Where they contradict each other so that nothing could ever fire.
    pub fn new(timing: Timing, zone: Zone, options: Options) -> Result<Timetable, Error> {
        if let (Some(start), Some(end)) = (options.start, options.end)
            && end <= start
        {
            return Err(Error::EndsBeforeStart { start, end });
        }
        let rule = rule(&timing, &options)?;
        let timetable = Timetable {
            timing,
            zone,
            options,
            rule,
        };
        match timetable.timing {
            Timing::At(at) if timetable.next_after(Timestamp::MIN).is_none() => {
                Err(Error::InstantExcluded { at })
            }
            _ => Ok(timetable),
        }
    }

    /// The first fire after an instant, the instant itself excluded; none where none comes any more.
    #[must_use]
    pub fn next_after(&self, after: Timestamp) -> Option<Fire> {
        let mut from = floor_second(after) + 1;
        if let Some(start) = self.options.start {
            from = from.max(ceil_second(start));
        }
        let found = match &self.rule {
            Rule::Cron { search, policy } => dst::first_from(search, &self.zone, *policy, from)?,
            Rule::Every(every) => self.next_multiple(*every, from)?,
            Rule::At(at) => self.only(*at, from)?,
        };
        let mut fire = found.into_fire()?;
        if self.options.end.is_some_and(|end| fire.at >= end) {
            return None;
        }
        let year = found.year();
        if self
            .options
            .calendar
            .as_ref()
            .is_some_and(|calendar| !calendar.covers(year))
        {
            fire.marks.uncovered_year = Some(year);
        }
        Some(fire)
    }

    /// All fires after an instant, in order.
    #[must_use]
    pub fn fires_after(&self, after: Timestamp) -> Fires<'_> {
        Fires {
            timetable: self,
            after: Some(after),
        }
    }

    /// The first fire in a year that the calendar does not cover: the moment before which somebody has to be told.
    /// None without a calendar, or where no such fire comes.
    #[must_use]
    pub fn first_uncovered_after(&self, after: Timestamp) -> Option<Fire> {
        let calendar = self.options.calendar.as_ref()?;
        let next = self.next_after(after)?;
        if next.marks.uncovered_year.is_some() {
            return Some(next);
        }
        // The covered years are one run, and what comes after its last day is not covered.
        let new_year = civil::day_of(calendar.years().end() + 1, 1, 1) * DAY;
        let just_before = crate::zone::instant(new_year - self.zone.stretch_at(new_year).offset - 1);
        self.fires_after(just_before.max(after))
            .find(|fire| fire.marks.uncovered_year.is_some())
    }

    /// The rule.
    #[must_use]
    pub fn timing(&self) -> &Timing {
        &self.timing
    }

    /// The zone.
    #[must_use]
    pub fn zone(&self) -> &Zone {
        &self.zone
    }

    /// Bounds, policies and calendar.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    pub(crate) fn search(&self) -> Option<&Search> {
        match &self.rule {
            Rule::Cron { search, .. } => Some(search),
            Rule::Every(_) | Rule::At(_) => None,
        }
    }

    fn only(&self, at: i64, from: i64) -> Option<Found> {
        let found = Found {
            at,
            shifted_from: None,
            stretch: self.zone.stretch_at(at),
        };
        (at >= from && self.next_working_day(&found)? == (at + found.stretch.offset).div_euclid(DAY))
            .then_some(found)
    }

    /// The first multiple from a second on that falls on a working day.
    fn next_multiple(&self, every: Every, from: i64) -> Option<Found> {
        let mut at = every.at_or_after(from);
        for _ in 0..MAX_STEPS {
            let found = Found {
                at,
                shifted_from: None,
                stretch: self.zone.stretch_at(at),
            };
            let today = (at + found.stretch.offset).div_euclid(DAY);
            let working = self.next_working_day(&found)?;
            if working == today {
                return Some(found);
            }
            let begins = (working * DAY - found.stretch.offset).min(found.stretch.end);
            at = every.at_or_after(begins.max(at + 1));
        }
        None
    }

    /// The first civil day that is no day off, from that of a fire on.
    fn next_working_day(&self, found: &Found) -> Option<i64> {
        let today = (found.at + found.stretch.offset).div_euclid(DAY);
        match &self.options.calendar {
            Some(calendar) => calendar.day_at_or_after(today),
            None => Some(today),
        }
    }
}

fn rule(timing: &Timing, options: &Options) -> Result<Rule, Error> {
    Ok(match timing {
        Timing::Cron(cron) => {
            let policy = match cron.is_fixed_time() {
                true => Policy::Fixed {
                    gap: options.dst_gap,
                    overlap: options.dst_overlap,
                },
                false => Policy::Interval,
            };
            let search = Search::new(cron, options.calendar.clone());
            if let Some(calendar) = options.calendar.as_ref().filter(|_| !search.can_match()) {
                return Err(Error::OnlyDaysOff {
                    cron: cron.to_string(),
                    calendar: calendar.name().into(),
                });
            }
            Rule::Cron { search, policy }
        }
        Timing::Every(every) => Rule::Every(Every {
            anchor: options.start.map_or(every.anchor, ceil_second),
            ..*every
        }),
        Timing::At(at) => Rule::At(ceil_second(*at)),
    })
}

/// The fires of a timetable, in order.
#[derive(Debug, Clone)]
pub struct Fires<'t> {
    timetable: &'t Timetable,
    after: Option<Timestamp>,
}

impl Iterator for Fires<'_> {
    type Item = Fire;

    fn next(&mut self) -> Option<Fire> {
        let fire = self.timetable.next_after(self.after?);
        self.after = fire.map(|fire| fire.at);
        fire
    }
}

impl std::iter::FusedIterator for Fires<'_> {}

fn floor_second(at: Timestamp) -> i64 {
    // jiff's fraction has the sign of the instant.
    at.as_second() - i64::from(at.subsec_nanosecond() < 0)
}

fn ceil_second(at: Timestamp) -> i64 {
    at.as_second() + i64::from(at.subsec_nanosecond() > 0)
}
