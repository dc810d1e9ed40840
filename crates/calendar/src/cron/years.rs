//! The field of years: spans instead of bits, as there are thousands.

use super::error::Error;
use super::field::{self, Item, Name};
use crate::civil::LAST_YEAR;

/// Which years match; without spans, every year.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Years {
    /// First, last and step.
    pub(crate) spans: Vec<(i32, i32, i32)>,
}

impl Years {
    pub(crate) fn parse(text: &str) -> Result<Years, Error> {
        let mut spans = Vec::new();
        for item in field::split(Name::Year, text)? {
            spans.push(match field::parse_item(Name::Year, item, field::number)? {
                Item::Every { step: 1 } => return Ok(Years::default()),
                Item::Every { step } => (Name::Year.low() as i32, LAST_YEAR, step as i32),
                Item::One(year) => (year as i32, year as i32, 1),
                Item::Span { first, last, .. } if last < first => {
                    return Err(Error::YearsBackward { first, last });
                }
                Item::Span { first, last, step } => (first as i32, last as i32, step as i32),
            });
        }
        Ok(Years { spans })
    }

    pub(crate) fn is_every(&self) -> bool {
        self.spans.is_empty()
    }

    /// The first matching year from the given one on.
    pub(crate) fn at_or_after(&self, year: i32) -> Option<i32> {
        if self.spans.is_empty() {
            return (year <= LAST_YEAR).then_some(year);
        }
        let in_span = |&(first, last, step): &(i32, i32, i32)| {
            let steps = (year - first).max(0).unsigned_abs().div_ceil(step.unsigned_abs());
            let found = first + steps as i32 * step;
            (found <= last).then_some(found)
        };
        self.spans.iter().filter_map(in_span).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn years_come_in_order() {
        let years = Years::parse("2030,2026-2028,2040/20").unwrap();
        let mut found = Vec::new();
        let mut next = years.at_or_after(1970);
        while let Some(year) = next.filter(|year| *year < 2070) {
            found.push(year);
            next = years.at_or_after(year + 1);
        }
        assert_eq!(found, [2026, 2027, 2028, 2030, 2040, 2060]);
        assert_eq!(Years::parse("2026").unwrap().at_or_after(2027), None);
    }

    #[test]
    fn years_out_of_order_or_range_are_refused() {
        for text in ["2030-2026", "1969", "10000", "*/9000", "L"] {
            assert!(Years::parse(text).is_err(), "{text}");
        }
        assert_eq!(Years::parse("2026,*").unwrap(), Years::default());
    }
}
