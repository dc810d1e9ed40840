//! A schedule with its calendar: what comes next, and when that is due.

use std::sync::Arc;

use calendar::{Fire, Timestamp, Timetable, WorkingDays, spread_delay_ms};
use domain::Millis;

use crate::{Moment, Order, Problem, Schedule, timing};

/// A planned instant and the moment at which it is to be fired: later where the schedule has a spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Next {
    /// The planned instant.
    pub planned_at: Millis,
    /// When to fire it: before the next planned instant.
    pub due: Millis,
}

/// A schedule, ready to be asked. Its answers depend on nothing but the definition, the calendar and the zone's rules.
#[derive(Debug, Clone)]
pub struct Plan {
    schedule: Schedule,
    timetable: Timetable,
}

/// An instant on a walk along the timetable, with the one after it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    pub(crate) planned_at: Millis,
    pub(crate) due: Millis,
    pub(crate) following: Option<Millis>,
}

impl Schedule {
    /// Puts the schedule and its calendar together; `find` gives the calendar of a name.
    ///
    /// # Errors
    /// Where there is no such calendar, or it takes off every day on which the schedule could fire.
    pub fn plan(&self, find: impl FnOnce(&str) -> Option<Arc<WorkingDays>>) -> Result<Plan, Problem> {
        let timetable = self
            .when
            .timetable(find)
            .map_err(|error| timing::problem(&error))?;
        Ok(Plan {
            schedule: self.clone(),
            timetable,
        })
    }
}

impl Plan {
    /// The definition.
    #[must_use]
    pub const fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// Its instants, with marks for a preview. The bound of `max_fires` is not in it.
    #[must_use]
    pub const fn timetable(&self) -> &Timetable {
        &self.timetable
    }

    /// What is allowed and yet is often not what was meant: one sentence each.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        self.timetable.timing().warnings()
    }

    /// The first planned instant after a cursor; none where none comes any more.
    #[must_use]
    pub fn next_after(&self, cursor: Millis) -> Option<Next> {
        self.step_after(cursor).map(Step::next)
    }

    /// The planned instants from one instant on, up to another, which is excluded. Unbounded: take as many as are
    /// wanted.
    pub fn between(&self, from: Millis, to: Millis) -> impl Iterator<Item = Millis> {
        let mut at = self.instant_after(from.saturating_sub(1));
        std::iter::from_fn(move || {
            let found = at.filter(|at| *at < to)?;
            at = self.instant_after(found);
            Some(found)
        })
    }

    /// The first planned instant in a year that the calendar does not cover: the moment before which somebody has to
    /// be told. None without a calendar.
    #[must_use]
    pub fn first_uncovered_after(&self, cursor: Millis) -> Option<Fire> {
        self.timetable.first_uncovered_after(timestamp(cursor))
    }

    /// The payload of a fire; empty where the schedule has none. `by_hand` stands in place of the schedule's own. Of a
    /// fire that is a batch it is an [`Order`].
    #[must_use]
    pub fn payload(&self, planned_at: Millis, fired_at: Millis, by_hand: Option<&str>) -> String {
        let moment = self.moment(planned_at, fired_at);
        let own = || self.schedule.payload.as_ref().map(|own| own.render(&moment));
        let payload = by_hand.map(str::to_owned).or_else(own);
        match &self.schedule.fan_out {
            Some(fan_out) => Order::of(fan_out, &moment, payload).to_json(),
            None => payload.unwrap_or_default(),
        }
    }

    /// What a fire fills into templates.
    #[must_use]
    pub fn moment(&self, planned_at: Millis, fired_at: Millis) -> Moment<'_> {
        Moment {
            schedule: &self.schedule.name,
            zone: self.timetable.zone(),
            planned_at,
            fired_at,
        }
    }

    pub(crate) fn instant_after(&self, cursor: Millis) -> Option<Millis> {
        let fire = self.timetable.next_after(timestamp(cursor))?;
        Some(fire.at.as_millisecond())
    }

    pub(crate) fn step_after(&self, cursor: Millis) -> Option<Step> {
        self.instant_after(cursor).map(|at| self.step(at))
    }

    /// The step at a planned instant.
    pub(crate) fn step(&self, planned_at: Millis) -> Step {
        let following = self.instant_after(planned_at);
        let spread_ms = self.schedule.spread_ms;
        let delay_ms = match spread_ms {
            0 => 0,
            _ => spread_delay_ms(
                &self.schedule.name,
                spread_ms,
                timestamp(planned_at),
                following.map(timestamp),
            ),
        };
        Step {
            planned_at,
            due: planned_at.saturating_add(delay_ms),
            following,
        }
    }
}

impl Step {
    pub(crate) const fn next(self) -> Next {
        Next {
            planned_at: self.planned_at,
            due: self.due,
        }
    }
}

/// Beyond the years that an instant can have nothing is planned.
pub(crate) fn timestamp(at: Millis) -> Timestamp {
    Timestamp::from_millisecond(at).unwrap_or(if at < 0 { Timestamp::MIN } else { Timestamp::MAX })
}
