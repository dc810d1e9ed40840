//! Why an expression is refused, in a sentence, and what to write instead.

use super::field::Name;
use crate::every;

/// Why a cron expression is refused. The sentence says what is wrong, [`Error::hint`] what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Nothing but blanks.
    #[error("the cron expression is empty")]
    Empty,
    /// Longer than [`super::MAX_BYTES`].
    #[error("the cron expression has {bytes} bytes, more than {max}", max = super::MAX_BYTES)]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// Not 5, 6 or 7 fields.
    #[error("the cron expression has {found} field{}, but 5, 6 or 7 are needed", if *found == 1 { "" } else { "s" })]
    FieldCount {
        /// How many fields it has.
        found: usize,
    },
    /// `TZ=` or `CRON_TZ=` in front.
    #[error("a cron expression holds no zone")]
    ZoneInside,
    /// An `@` word that nobody knows.
    #[error("{text:?} is no known shorthand")]
    UnknownShorthand {
        /// The word.
        text: String,
    },
    /// The duration of `@every` is not usable.
    #[error("the duration of @every is not usable")]
    Every(#[from] every::Error),
    /// Two commas in a row, or one at an end.
    #[error("the {field} field {text:?} has an empty place in its list")]
    EmptyItem {
        /// The field.
        field: Name,
        /// The whole field.
        text: String,
    },
    /// Neither a number nor a name of the field.
    #[error("{text:?} can't be read as a {field}")]
    NoValue {
        /// The field.
        field: Name,
        /// What stands there.
        text: String,
    },
    /// A number outside its field.
    #[error("the {field} {value} is not between {low} and {high}")]
    OutOfRange {
        /// The field.
        field: Name,
        /// The number.
        value: u32,
        /// The lowest that the field takes.
        low: u32,
        /// The highest.
        high: u32,
    },
    /// A range of years from a later to an earlier one.
    #[error("the years {first}-{last} run backward")]
    YearsBackward {
        /// The first year.
        first: u32,
        /// The last one.
        last: u32,
    },
    /// What follows `/` is no number.
    #[error("the step {text:?} of the {field} field is no number")]
    BadStep {
        /// The field.
        field: Name,
        /// What stands there.
        text: String,
    },
    /// `/0`.
    #[error("the step of the {field} field is 0")]
    StepZero {
        /// The field.
        field: Name,
    },
    /// A step that leaves the field at once.
    #[error("the step {step} of the {field} field is larger than its span of {span}")]
    StepTooLarge {
        /// The field.
        field: Name,
        /// The step.
        step: u32,
        /// Highest minus lowest value.
        span: u32,
    },
    /// `L`, `W` or `#` where it has no meaning.
    #[error("{text:?} has no meaning in the {field} field")]
    NoMeaningHere {
        /// The field.
        field: Name,
        /// What stands there.
        text: String,
    },
    /// `2#6`.
    #[error("{text:?} asks for a weekday that no month has")]
    NoSuchNth {
        /// What stands there.
        text: String,
    },
    /// No date matches, in any year.
    #[error("the cron expression can never fire: no date matches {dates}")]
    NeverFires {
        /// The fields that contradict each other.
        dates: String,
    },
}

impl Error {
    /// What to write instead.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Error::Empty => "write five fields, for example `0 9 * * *` for 09:00 every day".into(),
            Error::TooLong { .. } => "split it into several schedules".into(),
            Error::FieldCount { .. } => {
                "five fields are minute, hour, day of month, month, day of week; six put \
                 the second in front; seven add the year at the end"
                    .into()
            }
            Error::ZoneInside => "name the zone in the schedule's `zone`".into(),
            Error::UnknownShorthand { text } if text.eq_ignore_ascii_case("@reboot") => {
                "a start of a process is no instant; submit a task from what starts".into()
            }
            Error::UnknownShorthand { .. } => {
                "known are @hourly, @daily, @midnight, @weekly, @monthly, @yearly, \
                 @annually and @every with a duration, as in `@every 90s`"
                    .into()
            }
            Error::Every(source) => source.hint(),
            Error::EmptyItem { .. } => "take the spare comma out".into(),
            Error::NoValue { field, text } => no_value_hint(*field, text),
            Error::OutOfRange { field, value, .. } => out_of_range_hint(*field, *value),
            Error::YearsBackward { first, last } => format!("write {last}-{first}"),
            Error::BadStep { .. } => "a step is a number, as in `*/15`".into(),
            Error::StepZero { .. } => "a step is at least 1; `*` alone is every one".into(),
            Error::StepTooLarge { field, step, .. } => step_hint(*field, *step),
            Error::NoMeaningHere { field, text } => no_meaning_hint(*field, text),
            Error::NoSuchNth { .. } => {
                "a weekday comes at most five times a month: `2#1` to `2#5`, and `2L` for \
                 the last"
                    .into()
            }
            Error::NeverFires { .. } => "check day and month: February has at most 29 days; April, June, \
                 September and November have 30"
                .into(),
        }
    }
}

fn no_value_hint(field: Name, text: &str) -> String {
    if text.eq_ignore_ascii_case("H") || text.to_ascii_uppercase().starts_with("H(") {
        return "write a fixed value, and `spread` to part schedules in time".into();
    }
    let names = field.names();
    match (names.first(), names.last()) {
        (Some(first), Some(last)) => {
            format!(
                "write a number from {} to {}, or a name from {first} to {last}",
                field.low(),
                field.high()
            )
        }
        _ => format!("write a number from {} to {}", field.low(), field.high()),
    }
}

fn out_of_range_hint(field: Name, value: u32) -> String {
    match (field, value) {
        (Name::Hour, 24) => "midnight is hour 0 of the next day".into(),
        (Name::DayOfMonth | Name::Month, 0) => {
            "days and months count from 1; with six fields the second comes first".into()
        }
        (Name::DayOfWeek, _) => {
            "0 and 7 are Sunday; with `dialect: quartz` 1 is Sunday and 7 Saturday; names, \
             MON to SUN, are always clear"
                .into()
        }
        _ => format!("a {field} is a number from {} to {}", field.low(), field.high()),
    }
}

fn step_hint(field: Name, step: u32) -> String {
    match field {
        Name::Second => format!("for every {step} seconds write `@every {step}s`"),
        Name::Minute => format!("for every {step} minutes write `@every {step}m`"),
        Name::Hour => format!("for every {step} hours write `@every {step}h`"),
        Name::DayOfMonth | Name::DayOfWeek => format!("for every {step} days write `@every {step}d`"),
        Name::Month | Name::Year => "name the ones that you mean".into(),
    }
}

fn no_meaning_hint(field: Name, text: &str) -> String {
    match field {
        Name::DayOfMonth => "the day of month takes `L` (last day), `L-2` (two days before it), `LW` (last \
             working day) and `15W` (working day nearest the 15th), without a range or step"
            .into(),
        Name::DayOfWeek if text.eq_ignore_ascii_case("L") => {
            "write the day with it, as in `5L` or `FRIL` for the last Friday".into()
        }
        Name::DayOfWeek => {
            "the day of week takes `5L` (last Friday of the month) and `2#2` (second Tuesday), \
             without a range or step"
                .into()
        }
        _ => "`L`, `W` and `#` belong to the day fields".into(),
    }
}
