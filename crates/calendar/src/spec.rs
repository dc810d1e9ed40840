//! The calendar part of a schedule as people declare it, read into a timetable.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::cron::{self, Dialect};
use crate::every::{self, Every};
use crate::timetable::{self, Options, Timetable};
use crate::timing::Timing;
use crate::working_days::WorkingDays;
use crate::zone::{self, Zone};
use crate::{DstGap, DstOverlap};

/// What a schedule says about its instants. Exactly one of `cron`, `every` and `at` is given. It may be flattened into
/// a larger declaration.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Spec {
    /// An expression of 5, 6 or 7 fields, or a shorthand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cron: Option<String>,
    /// A duration, as in `90s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<String>,
    /// One instant, as RFC 3339 with an offset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// An IANA name, always explicit.
    #[serde(default)]
    pub zone: String,
    /// How numbers of weekdays count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialect: Option<Dialect>,
    /// No fire comes before this instant; an interval counts from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// No fire comes at or after this instant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
    /// What becomes of a fixed time in a gap.
    #[serde(default)]
    pub dst_gap: DstGap,
    /// On which pass a fixed time fires in an overlap.
    #[serde(default)]
    pub dst_overlap: DstOverlap,
    /// The name of a calendar of working days.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calendar: Option<String>,
}

/// Why a declaration is refused; the sentence of the cause stands in the source, or see [`Error::sentence`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// None or several of `cron`, `every` and `at`.
    #[error("a schedule has exactly one of `cron`, `every` and `at`, but {found} are given")]
    NotOneRule {
        /// How many are given.
        found: usize,
    },
    /// See the source.
    #[error("`cron` is not usable")]
    Cron(#[from] cron::Error),
    /// See the source.
    #[error("`every` is not usable")]
    Every(#[from] every::Error),
    /// See the source.
    #[error("`zone` is not usable")]
    Zone(#[from] zone::Error),
    /// See the source.
    #[error("the schedule contradicts itself")]
    Timetable(#[from] timetable::Error),
    /// Not an instant of whole seconds with an offset.
    #[error("{text:?} under `{key}` is no instant of whole seconds with an offset")]
    NoInstant {
        /// The key.
        key: &'static str,
        /// What stands there.
        text: String,
    },
    /// No calendar has this name.
    #[error("there is no calendar {name:?}")]
    UnknownCalendar {
        /// The name.
        name: String,
    },
}

impl Error {
    /// The whole reason in one line: this error and its causes.
    #[must_use]
    pub fn sentence(&self) -> String {
        let mut line = self.to_string();
        let mut source = std::error::Error::source(self);
        while let Some(cause) = source {
            line.push_str(&format!(": {cause}"));
            source = cause.source();
        }
        line
    }

    /// What to write instead.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Error::NotOneRule { .. } => "keep the one that is meant".into(),
            Error::Cron(source) => source.hint(),
            Error::Every(source) => source.hint(),
            Error::Zone(source) => source.hint(),
            Error::Timetable(source) => source.hint(),
            Error::NoInstant { .. } => "write `2026-03-01T09:00:00Z` or `2026-03-01T09:00:00+08:00`".into(),
            Error::UnknownCalendar { .. } => "declare it under `calendars`, or correct its name".into(),
        }
    }
}

impl Spec {
    /// Reads the declaration; `find` gives the calendar of a name.
    ///
    /// # Errors
    /// Where a part can't be read or the parts contradict each other.
    pub fn timetable(&self, find: impl FnOnce(&str) -> Option<Arc<WorkingDays>>) -> Result<Timetable, Error> {
        let timing = self.timing()?;
        let zone = Zone::named(&self.zone)?;
        let calendar = match &self.calendar {
            Some(name) => Some(find(name).ok_or_else(|| Error::UnknownCalendar { name: name.clone() })?),
            None => None,
        };
        let options = Options {
            start: self
                .start
                .as_deref()
                .map(|text| instant("start", text))
                .transpose()?,
            end: self.end.as_deref().map(|text| instant("end", text)).transpose()?,
            dst_gap: self.dst_gap,
            dst_overlap: self.dst_overlap,
            calendar,
        };
        Ok(Timetable::new(timing, zone, options)?)
    }

    fn timing(&self) -> Result<Timing, Error> {
        match (&self.cron, &self.every, &self.at) {
            (Some(cron), None, None) => Ok(Timing::parse(cron, self.dialect)?),
            (None, Some(every), None) => Ok(Timing::Every(Every::parse(every)?)),
            (None, None, Some(at)) => Ok(Timing::At(instant("at", at)?)),
            (cron, every, at) => {
                let found = [cron, every, at].into_iter().flatten().count();
                Err(Error::NotOneRule { found })
            }
        }
    }
}

fn instant(key: &'static str, text: &str) -> Result<Timestamp, Error> {
    let instant = text
        .trim()
        .parse::<Timestamp>()
        .ok()
        .filter(|at| at.subsec_nanosecond() == 0);
    instant.ok_or_else(|| Error::NoInstant {
        key,
        text: text.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(json: &str) -> Spec {
        serde_json::from_str(json).unwrap()
    }

    fn refused(json: &str) -> Error {
        spec(json).timetable(|_| None).unwrap_err()
    }

    #[test]
    fn a_declaration_reads_back_and_becomes_a_timetable() {
        let declared = spec(
            r#"{"cron": "0 0 9 ? * 2-6", "zone": "Asia/Shanghai", "dialect": "quartz", "start": "2026-03-02T00:00:00Z",
                "end": "2026-03-04T01:00:00Z", "dst_gap": "skip", "dst_overlap": "both"}"#,
        );
        assert_eq!(spec(&serde_json::to_string(&declared).unwrap()), declared);
        let timetable = declared.timetable(|_| None).unwrap();
        let fires: Vec<_> = timetable
            .fires_after(Timestamp::UNIX_EPOCH)
            .map(|fire| fire.to_string())
            .collect();
        assert_eq!(fires, ["2026-03-02T09:00:00+08:00", "2026-03-03T09:00:00+08:00"]);
        assert_eq!(
            timetable.describe(),
            "at 09:00 on Monday to Friday, Asia/Shanghai, from 2026-03-02T08:00:00+08:00, before \
             2026-03-04T09:00:00+08:00"
        );
    }

    #[test]
    fn an_interval_counts_from_its_start() {
        let fires = |json: &str| -> Vec<i64> {
            let timetable = spec(json).timetable(|_| None).unwrap();
            timetable
                .fires_after(Timestamp::UNIX_EPOCH)
                .take(2)
                .map(|fire| fire.at.as_second())
                .collect()
        };
        assert_eq!(fires(r#"{"every": "90s", "zone": "UTC"}"#), [90, 180]);
        assert_eq!(
            fires(r#"{"every": "90s", "zone": "UTC", "start": "1970-01-01T00:01:00Z"}"#),
            [60, 150]
        );
        assert_eq!(
            fires(r#"{"cron": "@every 90s", "zone": "UTC", "start": "1970-01-01T00:01:00Z"}"#),
            [60, 150]
        );
        assert_eq!(
            fires(r#"{"at": "1970-01-01T00:01:00+00:00", "zone": "UTC"}"#),
            [60]
        );
    }

    #[test]
    fn contradictions_are_refused_with_the_whole_reason() {
        let error = refused(r#"{"cron": "60 * * * *", "zone": "UTC"}"#);
        assert_eq!(
            error.sentence(),
            "`cron` is not usable: the minute 60 is not between 0 and 59"
        );
        for json in [
            r#"{"zone": "UTC"}"#,
            r#"{"cron": "0 9 * * *", "every": "1h", "zone": "UTC"}"#,
            r#"{"cron": "0 9 * * *"}"#,
            r#"{"every": "1x", "zone": "UTC"}"#,
            r#"{"at": "2026-03-01T09:00:00", "zone": "UTC"}"#,
            r#"{"at": "2026-03-01T09:00:00.5Z", "zone": "UTC"}"#,
            r#"{"at": "2026-03-01T09:00:00Z", "zone": "UTC", "end": "2026-03-01T09:00:00Z"}"#,
            r#"{"every": "1h", "zone": "UTC", "start": "2026-03-01T09:00:00Z", "end": "2026-03-01T09:00:00Z"}"#,
            r#"{"cron": "0 9 * * *", "zone": "UTC", "calendar": "cn"}"#,
        ] {
            let error = refused(json);
            assert!(
                error.sentence().len() > 20 && !error.hint().is_empty(),
                "{json}: {error}"
            );
        }
    }
}
