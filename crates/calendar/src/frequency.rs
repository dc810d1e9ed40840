//! How many fires a day a timetable makes.

use std::fmt;

use crate::civil::DAY;
use crate::timetable::Timetable;
use crate::timing::Timing;

/// Fires a day, on ordinary days: changes of the clock, the expression's years and listed days off aside.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FiresADay {
    /// On a day on which it fires at all.
    pub on_its_days: f64,
    /// On average over all days.
    pub average: f64,
}

impl Timetable {
    /// How many fires a day this makes.
    #[must_use]
    pub fn fires_a_day(&self) -> FiresADay {
        match self.timing() {
            Timing::Cron(cron) => {
                let values = |bits: u64| f64::from(bits.count_ones());
                let on_its_days =
                    values(cron.seconds.bits) * values(cron.minutes.bits) * values(cron.hours.bits);
                let days = self.search().map_or(0, crate::search::Search::days_in_400_years);
                FiresADay {
                    on_its_days,
                    average: on_its_days * f64::from(days) / 146_097.0,
                }
            }
            Timing::Every(every) => {
                let average = DAY as f64 / every.seconds() as f64;
                FiresADay {
                    on_its_days: average.max(1.0),
                    average,
                }
            }
            Timing::At(_) => FiresADay {
                on_its_days: 1.0,
                average: 0.0,
            },
        }
    }
}

impl fmt::Display for FiresADay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |count: f64| if count == 1.0 { "" } else { "s" };
        let count = |number: f64| match number.fract() == 0.0 {
            true => format!("{number}"),
            false => format!("{number:.1}"),
        };
        if self.average == 0.0 {
            return f.write_str("one fire");
        }
        if (self.average - self.on_its_days).abs() < 1e-9 {
            return write!(f, "{} fire{} a day", count(self.average), plural(self.average));
        }
        let a_year = self.average * 365.2425;
        write!(
            f,
            "{} fire{} on its days, about ",
            count(self.on_its_days),
            plural(self.on_its_days)
        )?;
        if a_year < 0.95 {
            write!(f, "one in {:.0} years", 1.0 / a_year)
        } else {
            write!(f, "{a_year:.0} a year")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, Zone};

    #[test]
    fn fires_are_counted() {
        for (text, words) in [
            ("0 9 * * *", "1 fire a day"),
            ("*/15 * * * *", "96 fires a day"),
            ("* * * * * *", "86400 fires a day"),
            ("0,30 9 * * 1-5", "2 fires on its days, about 522 a year"),
            ("0 0 29 2 *", "1 fire on its days, about one in 4 years"),
            ("@every 7s", "12342.9 fires a day"),
            ("@every 7d", "1 fire on its days, about 52 a year"),
        ] {
            let timing = Timing::parse(text, None).unwrap();
            let timetable = Timetable::new(timing, Zone::utc(), Options::default()).unwrap();
            assert_eq!(timetable.fires_a_day().to_string(), words, "{text}");
        }
    }
}
