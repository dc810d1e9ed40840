//! A timetable in words, for people who don't read cron.

use crate::civil;
use crate::cron::{Cron, DayRule, Days, Field, Item, Years};
use crate::timetable::Timetable;
use crate::timing::Timing;

/// The most wall-clock times that are listed one by one.
const LISTED_TIMES: u32 = 6;

const WEEKDAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

impl Cron {
    /// The expression in words: `at 09:00 on Monday to Friday`.
    #[must_use]
    pub fn describe(&self) -> String {
        let mut words = times(self);
        words.push_str(&dates(&self.days));
        if !is_full(&self.months) {
            words.push_str(&format!(
                " in {}",
                list(&self.months, "month", &|month| name(&MONTHS, month - 1))
            ));
        }
        if !self.years.is_every() {
            words.push_str(&format!(" in {}", years(&self.years)));
        }
        words
    }
}

impl Timing {
    /// The rule in words.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Timing::Cron(cron) => cron.describe(),
            Timing::Every(every) => format!("every {every}"),
            Timing::At(at) => format!("once at {at}"),
        }
    }
}

impl Timetable {
    /// The timetable in words, with its zone, calendar and bounds.
    #[must_use]
    pub fn describe(&self) -> String {
        let (zone, options) = (self.zone(), self.options());
        let mut words = match self.timing() {
            Timing::At(at) => format!("once at {}", zone.show(*at)),
            timing => timing.describe(),
        };
        words.push_str(&format!(", {zone}"));
        if let Some(calendar) = &options.calendar {
            words.push_str(&format!(", on working days of {}", calendar.name()));
        }
        if let Some(start) = options.start {
            words.push_str(&format!(", from {}", zone.show(start)));
        }
        if let Some(end) = options.end {
            words.push_str(&format!(", before {}", zone.show(end)));
        }
        words
    }
}

/// The days of the week of an expression: `Monday to Friday`, `the second Tuesday of the month`.
pub(crate) fn weekdays(days: &Days) -> String {
    let mut parts = Vec::new();
    if !days.of_week.items.is_empty() {
        parts.push(list(&days.of_week, "day of the week", &|day| {
            name(&WEEKDAYS, day % 7)
        }));
    }
    let ordinals = ["first", "second", "third", "fourth", "fifth"];
    for &(day, nth) in &days.nth {
        parts.push(format!(
            "the {} {} of the month",
            name(&ordinals, nth - 1),
            name(&WEEKDAYS, day)
        ));
    }
    let last = |day: &u32| days.last >> day & 1 == 1;
    parts.extend(
        (0..7)
            .filter(last)
            .map(|day| format!("the last {} of the month", name(&WEEKDAYS, day))),
    );
    join(&parts, "and")
}

fn times(cron: &Cron) -> String {
    let count = |field: &Field| field.bits.count_ones();
    let total = count(&cron.seconds) * count(&cron.minutes) * count(&cron.hours);
    if total <= LISTED_TIMES {
        return format!("at {}", join(&clock_times(cron), "and"));
    }
    let mut parts = Vec::new();
    if cron.seconds.bits != 1 {
        parts.push(list(&cron.seconds, "second", &|second| second.to_string()));
    }
    if !(is_full(&cron.minutes) && is_full(&cron.seconds)) {
        parts.push(list(&cron.minutes, "minute", &|minute| minute.to_string()));
    }
    let starts_with_every = parts.first().is_none_or(|part| part.starts_with("every"));
    if !(is_full(&cron.hours) && starts_with_every) {
        parts.push(list(&cron.hours, "hour", &|hour| hour.to_string()));
    }
    let prefix = if starts_with_every { "" } else { "at " };
    format!("{prefix}{}", parts.join(" of "))
}

/// All times of a day, with seconds where there are some.
fn clock_times(cron: &Cron) -> Vec<String> {
    let values = |field: &Field| {
        (0..60)
            .filter(|value| field.bits >> value & 1 == 1)
            .collect::<Vec<u32>>()
    };
    let mut times = Vec::new();
    for hour in values(&cron.hours) {
        for minute in values(&cron.minutes) {
            for second in values(&cron.seconds) {
                times.push(match cron.seconds.bits {
                    1 => format!("{hour:02}:{minute:02}"),
                    _ => format!("{hour:02}:{minute:02}:{second:02}"),
                });
            }
        }
    }
    times
}

fn dates(days: &Days) -> String {
    let every_date = is_full(&days.of_month) && days.rules.is_empty();
    let every_weekday = is_full(&days.of_week) && days.nth.is_empty() && days.last == 0;
    match (every_date, every_weekday) {
        (true, true) => " every day".into(),
        (true, false) => format!(" on {}", weekdays(days)),
        (false, true) => format!(" on {}", month_days(days)),
        (false, false) if days.of_month.starred || days.of_week.starred => {
            format!(" on {}, where that is {}", month_days(days), weekdays(days))
        }
        (false, false) => format!(" on {}, and on {}", month_days(days), weekdays(days)),
    }
}

fn month_days(days: &Days) -> String {
    let mut parts = Vec::new();
    if !days.of_month.items.is_empty() {
        parts.push(list(&days.of_month, "day", &|day| day.to_string()));
    }
    for rule in &days.rules {
        let end = |before: u32| match before {
            0 => "the last day".to_owned(),
            1 => "1 day before the last".to_owned(),
            before => format!("{before} days before the last"),
        };
        parts.push(match *rule {
            DayRule::FromEnd {
                before,
                weekday: false,
            } => end(before),
            DayRule::FromEnd {
                before: 0,
                weekday: true,
            } => "the last Monday to Friday".into(),
            DayRule::FromEnd {
                before,
                weekday: true,
            } => format!("the Monday to Friday nearest {}", end(before)),
            DayRule::NearestWeekday(day) => format!("the Monday to Friday nearest day {day}"),
        });
    }
    format!("{} of the month", join(&parts, "and"))
}

fn years(years: &Years) -> String {
    let part = |&(first, last, step): &(i32, i32, i32)| match (first == last, step) {
        (true, _) => first.to_string(),
        (false, 1) => format!("{first} to {last}"),
        (false, step) if last == civil::LAST_YEAR => format!("every {step} years from {first}"),
        (false, step) => format!("every {step} years from {first} to {last}"),
    };
    join(&years.spans.iter().map(part).collect::<Vec<_>>(), "and")
}

/// A field's items; numbers are shown with their unit, names without.
fn list(field: &Field, unit: &str, show: &dyn Fn(u32) -> String) -> String {
    let singles: Vec<String> = field
        .items
        .iter()
        .filter_map(|item| single(item).map(show))
        .collect();
    let named = singles
        .iter()
        .any(|text| text.starts_with(|c: char| c.is_ascii_alphabetic()));
    let mut parts = Vec::new();
    match singles.as_slice() {
        [] => {}
        singles if named => parts.extend_from_slice(singles),
        [one] => parts.push(format!("{unit} {one}")),
        many => parts.push(format!("{unit}s {}", join(many, "and"))),
    }
    parts.extend(field.items.iter().filter_map(|item| range(item, unit, show)));
    join(&parts, "and")
}

fn single(item: &Item) -> Option<u32> {
    match item {
        Item::One(value) => Some(*value),
        Item::Every { .. } | Item::Span { .. } => None,
    }
}

fn range(item: &Item, unit: &str, show: &dyn Fn(u32) -> String) -> Option<String> {
    Some(match *item {
        Item::One(_) => return None,
        Item::Every { step: 1 } => format!("every {unit}"),
        Item::Every { step } => format!("every {} {unit}", ordinal(step)),
        Item::Span { first, last, step: 1 } => {
            let (first, last) = (show(first), show(last));
            let unit = if first.starts_with(|c: char| c.is_ascii_digit()) {
                format!("{unit}s ")
            } else {
                String::new()
            };
            format!("{unit}{first} to {last}")
        }
        Item::Span { first, last, step } => {
            format!(
                "every {} {unit} from {} to {}",
                ordinal(step),
                show(first),
                show(last)
            )
        }
    })
}

fn is_full(field: &Field) -> bool {
    field.items.contains(&Item::Every { step: 1 })
}

fn name(names: &[&str], index: u32) -> String {
    names.get(index as usize).copied().unwrap_or_default().to_owned()
}

fn ordinal(number: u32) -> String {
    let suffix = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{suffix}")
}

/// `a`, `a and b`, `a, b and c`.
fn join(parts: &[String], word: &str) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} {word} {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_in_words() {
        for (text, words) in [
            ("0 9 * * *", "at 09:00 every day"),
            ("30 2,14 * * 1-5", "at 02:30 and 14:30 on Monday to Friday"),
            ("0 30 0 * * *", "at 00:30 every day"),
            ("15,45 30 0 * * *", "at 00:30:15 and 00:30:45 every day"),
            ("* * * * *", "every minute every day"),
            ("* * * * * *", "every second every day"),
            ("5/15 * * * *", "every 15th minute from 5 to 59 every day"),
            ("20 */3 * * *", "at minute 20 of every 3rd hour every day"),
            ("0 * * * *", "at minute 0 of every hour every day"),
            ("*/10 9-17 * * *", "every 10th minute of hours 9 to 17 every day"),
            ("0 0 13 * 5", "at 00:00 on day 13 of the month, and on Friday"),
            (
                "0 12 */2 * 0,6",
                "at 12:00 on every 2nd day of the month, where that is Sunday and Saturday",
            ),
            (
                "0 9 L-2,LW,15W * *",
                "at 09:00 on 2 days before the last, the last Monday to Friday and the Monday \
              to Friday nearest day 15 of the month",
            ),
            (
                "0 9 * 1,7 2#2",
                "at 09:00 on the second Tuesday of the month in January and July",
            ),
            ("0 9 * * 5L", "at 09:00 on the last Friday of the month"),
            (
                "0 0 9 1-7 NOV-FEB ? 2026-2030/2",
                "at 09:00 on days 1 to 7 of the month in November to February in \
              every 2 years from 2026 to 2030",
            ),
        ] {
            assert_eq!(Cron::parse(text, None).unwrap().describe(), words, "{text}");
        }
    }
}
