//! One field of numbers: its names and limits, its items, and its set of values as bits.

use std::fmt;

use super::error::Error;

/// A field of a cron expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name {
    /// 0 to 59.
    Second,
    /// 0 to 59.
    Minute,
    /// 0 to 23.
    Hour,
    /// 1 to 31.
    DayOfMonth,
    /// 1 to 12, or JAN to DEC.
    Month,
    /// 0 to 7 (0 and 7 are Sunday), or SUN to SAT; 1 to 7 in Quartz.
    DayOfWeek,
    /// 1970 to 9999.
    Year,
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Name::Second => "second",
            Name::Minute => "minute",
            Name::Hour => "hour",
            Name::DayOfMonth => "day of month",
            Name::Month => "month",
            Name::DayOfWeek => "day of week",
            Name::Year => "year",
        })
    }
}

impl Name {
    pub(crate) const fn low(self) -> u32 {
        match self {
            Name::Second | Name::Minute | Name::Hour | Name::DayOfWeek => 0,
            Name::DayOfMonth | Name::Month => 1,
            Name::Year => 1970,
        }
    }

    /// The highest distinct value; the weekday 7 is Sunday once more.
    pub(crate) const fn high(self) -> u32 {
        match self {
            Name::Second | Name::Minute => 59,
            Name::Hour => 23,
            Name::DayOfMonth => 31,
            Name::Month => 12,
            Name::DayOfWeek => 6,
            Name::Year => crate::civil::LAST_YEAR as u32,
        }
    }

    pub(crate) const fn names(self) -> &'static [&'static str] {
        match self {
            Name::Month => &[
                "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC",
            ],
            Name::DayOfWeek => &["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"],
            _ => &[],
        }
    }
}

/// One element of a field's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Item {
    /// `*`, `?` or `*/step`.
    Every { step: u32 },
    /// `first-last`, `first-last/step`, and `first/step`, which runs to the field's end. Wraps where last < first.
    Span { first: u32, last: u32, step: u32 },
    /// A single value.
    One(u32),
}

/// A field's items, and their values as bits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) items: Vec<Item>,
    pub(crate) bits: u64,
    /// Whether it starts with `*` or `?`.
    pub(crate) starred: bool,
}

impl Field {
    /// The field that holds one value, where the expression leaves it out.
    pub(crate) fn single(value: u32) -> Field {
        Field {
            items: vec![Item::One(value)],
            bits: 1 << value,
            starred: false,
        }
    }

    /// Whether it names single values only, so that it may belong to a fixed time.
    pub(crate) fn is_fixed(&self) -> bool {
        self.items.iter().all(|item| matches!(item, Item::One(_)))
    }
}

/// Reads a field below 64: second, minute, hour or month.
pub(crate) fn parse(name: Name, text: &str) -> Result<Field, Error> {
    let items = split(name, text)?
        .map(|item| parse_item(name, item, number))
        .collect::<Result<Vec<_>, _>>()?;
    let bits = items.iter().fold(0, |bits, item| bits | item_bits(name, *item));
    Ok(Field {
        items,
        bits,
        starred: is_starred(text),
    })
}

pub(crate) fn is_starred(text: &str) -> bool {
    text.starts_with(['*', '?'])
}

/// The elements of a list, none of them empty.
pub(crate) fn split(name: Name, text: &str) -> Result<std::str::Split<'_, char>, Error> {
    if text.split(',').any(str::is_empty) {
        return Err(Error::EmptyItem {
            field: name,
            text: text.into(),
        });
    }
    Ok(text.split(','))
}

/// Reads one element; `value` reads a single value, so that weekdays may count as their dialect does.
pub(crate) fn parse_item(
    name: Name,
    text: &str,
    value: impl Fn(Name, &str) -> Result<u32, Error>,
) -> Result<Item, Error> {
    let (base, step) = match text.split_once('/') {
        Some((base, step)) => (base, Some(parse_step(name, step)?)),
        None => (text, None),
    };
    if base == "*" || base == "?" {
        return Ok(Item::Every {
            step: step.unwrap_or(1),
        });
    }
    if let Some((first, last)) = base.split_once('-') {
        let (first, last) = (value(name, first)?, value(name, last)?);
        return Ok(Item::Span {
            first,
            last,
            step: step.unwrap_or(1),
        });
    }
    let first = value(name, base)?;
    Ok(match step {
        Some(step) => Item::Span {
            first,
            last: name.high(),
            step,
        },
        None => Item::One(first),
    })
}

fn parse_step(name: Name, text: &str) -> Result<u32, Error> {
    let step = digits(text).ok_or_else(|| Error::BadStep {
        field: name,
        text: text.into(),
    })?;
    let span = name.high() - name.low();
    match step {
        0 => Err(Error::StepZero { field: name }),
        step if step > span => Err(Error::StepTooLarge {
            field: name,
            step,
            span,
        }),
        step => Ok(step),
    }
}

/// A number or a name of the field.
pub(crate) fn number(name: Name, text: &str) -> Result<u32, Error> {
    if let Some(index) = name
        .names()
        .iter()
        .position(|known| known.eq_ignore_ascii_case(text))
    {
        return Ok(index as u32 + name.low());
    }
    let value = digits(text).ok_or_else(|| unreadable(name, text))?;
    in_range(name, value, name.low(), name.high())
}

pub(crate) fn in_range(name: Name, value: u32, low: u32, high: u32) -> Result<u32, Error> {
    if (low..=high).contains(&value) {
        Ok(value)
    } else {
        Err(Error::OutOfRange {
            field: name,
            value,
            low,
            high,
        })
    }
}

/// The error for a text that is neither a number nor a name.
pub(crate) fn unreadable(name: Name, text: &str) -> Error {
    let special = |c: char| matches!(c, 'L' | 'l' | 'W' | 'w' | '#' | '-') || c.is_ascii_digit();
    if text.contains(['L', 'l', 'W', 'w', '#']) && text.chars().all(special) {
        return Error::NoMeaningHere {
            field: name,
            text: text.into(),
        };
    }
    Error::NoValue {
        field: name,
        text: text.into(),
    }
}

/// Decimal digits only: no sign, no blank, and few enough to fit.
pub(crate) fn digits(text: &str) -> Option<u32> {
    let plain = !text.is_empty() && text.len() <= 9 && text.bytes().all(|byte| byte.is_ascii_digit());
    if plain { text.parse().ok() } else { None }
}

/// The values of an item of a field below 64.
pub(crate) fn item_bits(name: Name, item: Item) -> u64 {
    let (low, high) = (name.low(), name.high());
    let (first, last, step) = match item {
        Item::One(value) => return 1 << value,
        Item::Every { step } => (low, high, step),
        // A range that wraps goes on counting past the field's end.
        Item::Span { first, last, step } if last < first => (first, last + high - low + 1, step),
        Item::Span { first, last, step } => (first, last, step),
    };
    (first..=last).step_by(step as usize).fold(0, |bits, value| {
        bits | 1
            << if value > high {
                value - (high - low + 1)
            } else {
                value
            }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(name: Name, text: &str) -> Vec<u32> {
        let bits = parse(name, text).unwrap().bits;
        (0..64).filter(|value| bits >> value & 1 == 1).collect()
    }

    #[test]
    fn items_give_their_values() {
        assert_eq!(values(Name::Hour, "22-2"), [0, 1, 2, 22, 23]);
        assert_eq!(values(Name::Hour, "22-2/2"), [0, 2, 22]);
        assert_eq!(values(Name::Minute, "5/15"), [5, 20, 35, 50]);
        assert_eq!(values(Name::Month, "nov-Feb"), [1, 2, 11, 12]);
        assert_eq!(values(Name::Month, "*/5"), [1, 6, 11]);
        assert_eq!(values(Name::Second, "*/59"), [0, 59]);
        assert_eq!(values(Name::Second, "07,7"), [7]);
    }

    #[test]
    fn a_step_larger_than_the_span_is_refused() {
        for (name, text) in [
            (Name::Minute, "*/60"),
            (Name::Hour, "*/24"),
            (Name::Month, "1-2/12"),
            (Name::Hour, "1/24"),
        ] {
            assert!(
                matches!(parse(name, text), Err(Error::StepTooLarge { .. })),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in [
            "+5",
            "5-",
            "-5",
            "1-2-3",
            "5 ",
            "",
            "1,,2",
            ",",
            "5/",
            "5/x",
            "L",
            "9999999999",
            "*5",
        ] {
            assert!(parse(Name::Hour, text).is_err(), "{text:?}");
        }
    }
}
