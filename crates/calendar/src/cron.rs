//! The cron expression: 5, 6 or 7 fields and the `@` shorthands, read into sets of numbers.
//!
//! Rules beyond the usual ones stand in `cases/README.md`. Nothing here knows of zones.

mod days;
mod error;
mod field;
mod years;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub(crate) use days::{DayRule, Days};
pub use error::Error;
pub use field::Name as FieldName;
pub(crate) use field::{Field, Item};
pub(crate) use years::Years;

use crate::search::Search;

/// The longest expression that is read.
pub const MAX_BYTES: usize = 512;

/// How numbers of weekdays count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// 0 and 7 are Sunday, as in crontab files. The default.
    Cron,
    /// 1 is Sunday and 7 Saturday, as in Quartz.
    Quartz,
}

/// A cron expression that can fire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cron {
    text: String,
    pub(crate) seconds: Field,
    pub(crate) minutes: Field,
    pub(crate) hours: Field,
    pub(crate) days: Days,
    pub(crate) months: Field,
    pub(crate) years: Years,
    warnings: Vec<String>,
}

impl Cron {
    /// Reads an expression of 5, 6 or 7 fields or a shorthand other than `@every`, which is no cron expression but
    /// an interval (see [`crate::Timing::parse`]).
    ///
    /// # Errors
    /// A sentence that says what is wrong, with a hint; also where the expression could never fire.
    pub fn parse(text: &str, dialect: Option<Dialect>) -> Result<Cron, Error> {
        if text.len() > MAX_BYTES {
            return Err(Error::TooLong { bytes: text.len() });
        }
        let plain = expand(text.trim())?;
        let fields: Vec<&str> = plain.split_whitespace().collect();
        let (second, rest, year) = match fields.as_slice() {
            [] => return Err(Error::Empty),
            rest if rest.len() == 5 => (None, rest, None),
            [second, rest @ ..] if rest.len() == 5 => (Some(*second), rest, None),
            [second, rest @ .., year] if rest.len() == 5 => (Some(*second), rest, Some(*year)),
            more => return Err(Error::FieldCount { found: more.len() }),
        };
        let mut cron = Cron {
            text: fields.join(" "),
            seconds: second.map_or(Ok(Field::single(0)), |text| field::parse(FieldName::Second, text))?,
            minutes: field::parse(FieldName::Minute, rest[0])?,
            hours: field::parse(FieldName::Hour, rest[1])?,
            days: Days::parse(rest[2], rest[4], dialect.unwrap_or(Dialect::Cron))?,
            months: field::parse(FieldName::Month, rest[3])?,
            years: year.map_or(Ok(Years::default()), Years::parse)?,
            warnings: Vec::new(),
        };
        if !Search::new(&cron, None).can_match() {
            let years = year.map_or(String::new(), |year| format!(", year {year}"));
            let dates = format!("day {}, month {}, weekday {}{years}", rest[2], rest[3], rest[4]);
            return Err(Error::NeverFires { dates });
        }
        cron.warnings = cron.warn(rest[4], second.is_some() && dialect.is_none());
        Ok(cron)
    }

    /// Whether second, minute and hour are single values or lists of them: a *fixed time*, which survives a change
    /// of the clocks. Otherwise it is an *interval*, which follows the wall clock as it runs.
    #[must_use]
    pub fn is_fixed_time(&self) -> bool {
        self.seconds.is_fixed() && self.minutes.is_fixed() && self.hours.is_fixed()
    }

    /// What is allowed and yet is often not what was meant: one sentence each.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    fn warn(&self, of_week: &str, dialect_is_open: bool) -> Vec<String> {
        let mut warnings = Vec::new();
        if dialect_is_open && self.days.numeric_weekday {
            warnings.push(format!(
                "the weekday {of_week} was read as {}, with 0 and 7 for Sunday; Quartz counts from 1 for Sunday: \
                 write names, or say `dialect: quartz` or `dialect: cron`",
                crate::describe::weekdays(&self.days)
            ));
        }
        if !self.days.of_month.starred && !self.days.of_week.starred {
            warnings.push(
                "day of month and day of week are both given, so a day that matches either of them fires; where one \
                 starts with `*`, both must match"
                    .into(),
            );
        }
        warnings
    }
}

impl fmt::Display for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Cron {
    type Err = Error;

    fn from_str(text: &str) -> Result<Cron, Error> {
        Cron::parse(text, None)
    }
}

/// The fields that a shorthand stands for; other texts as they are.
fn expand(text: &str) -> Result<&str, Error> {
    let upper = text.to_ascii_uppercase();
    if upper.starts_with("TZ=") || upper.starts_with("CRON_TZ=") {
        return Err(Error::ZoneInside);
    }
    if !text.starts_with('@') {
        return Ok(text);
    }
    match upper.as_str() {
        "@HOURLY" => Ok("0 * * * *"),
        "@DAILY" | "@MIDNIGHT" => Ok("0 0 * * *"),
        "@WEEKLY" => Ok("0 0 * * SUN"),
        "@MONTHLY" => Ok("0 0 1 * *"),
        "@YEARLY" | "@ANNUALLY" => Ok("0 0 1 1 *"),
        _ => Err(Error::UnknownShorthand { text: text.into() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fixed_time_holds_no_range_step_or_star() {
        for (text, fixed) in [
            ("0 9 * * *", true),
            ("30 2,14 * * *", true),
            ("@daily", true),
            ("0 30 2 * * * 2030", true),
            ("* 9 * * *", false),
            ("0 9-10 * * *", false),
            ("0/30 9 * * *", false),
            ("? 0 9 * * *", false),
            ("@hourly", false),
        ] {
            assert_eq!(Cron::parse(text, None).unwrap().is_fixed_time(), fixed, "{text}");
        }
    }

    #[test]
    fn a_numeric_weekday_with_seconds_warns_until_the_dialect_is_said() {
        let warned = |text, dialect| !Cron::parse(text, dialect).unwrap().warnings().is_empty();
        assert!(warned("0 0 9 ? * 2-6", None));
        assert!(warned("0 0 9 ? * 2#1 2030", None));
        assert!(!warned("0 0 9 ? * 2-6", Some(Dialect::Quartz)));
        assert!(!warned("0 0 9 ? * 2-6", Some(Dialect::Cron)));
        assert!(!warned("0 0 9 ? * MON-FRI", None));
        assert!(!warned("0 9 * * 1-5", None));
        assert!(!warned("0 0 9 * * */2", None));
        let warning = Cron::parse("0 0 9 ? * 2-6", None).unwrap().warnings()[0].clone();
        assert!(warning.contains("Tuesday to Saturday"), "{warning}");
        assert!(warned("0 0 13 * 5", None));
    }

    #[test]
    fn what_can_never_fire_is_refused() {
        for text in [
            "0 0 30 2 *",
            "0 0 31 4,6 *",
            "0 0 31W 2,4 *",
            "0 0 0 29 2 ? 2027",
            "0 0 0 29 2 ? 2100",
            "0 0 */28 2 3#2",
            "0 0 L-30 2 *",
        ] {
            assert!(Cron::parse(text, None).is_err(), "{text}");
        }
        assert!(Cron::parse("0 0 29 2 ?", None).is_ok());
    }

    #[test]
    fn errors_are_sentences_with_a_hint() {
        for text in [
            "",
            "* * * *",
            "60 * * * *",
            "*/90 * * * *",
            "@reboot",
            "@foo",
            "TZ=UTC 0 0 * * *",
            "H * * * *",
            "0 24 * * *",
            "0 0 30 2 *",
            "0 0 * * FOO",
            "0 0 1,, * *",
            "5L * * * *",
            "*/0 * * * *",
            "0 0 0 * *",
        ] {
            let error = Cron::parse(text, None).unwrap_err();
            assert!(
                error.to_string().len() > 20 && error.hint().len() > 10,
                "{text}: {error} {}",
                error.hint()
            );
        }
        let error = Cron::parse("*/90 * * * *", None).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the step 90 of the minute field is larger than its span of 59"
        );
        assert_eq!(error.hint(), "for every 90 minutes write `@every 90m`");
    }
}
