//! What an audit found: what was looked at, and every exception.

use std::collections::BTreeMap;

use domain::Millis;
use serde::Serialize;

/// Exceptions that are kept; further ones are only counted.
const EXCEPTIONS_MAX: usize = 200;

/// The result of an audit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Only what happened since, in milliseconds since the epoch.
    pub since: Option<Millis>,
    /// How much was looked at, by what it is.
    pub looked_at: BTreeMap<&'static str, u64>,
    /// What was on its way, and so could not be judged, by what it is.
    pub in_flight: BTreeMap<&'static str, u64>,
    /// What could not be judged as it had left the stream or the store, by what it is.
    pub trimmed: BTreeMap<&'static str, u64>,
    /// How many exceptions there are, by invariant.
    pub exceptions_by_invariant: BTreeMap<&'static str, u64>,
    /// How many exceptions there are.
    pub exceptions_total: u64,
    /// The first of them.
    pub exceptions: Vec<Exception>,
}

/// Something that breaks an invariant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Exception {
    /// The invariant's number, such as `I2`.
    pub invariant: &'static str,
    /// The task, schedule or partition that it is about.
    pub about: String,
    /// What was seen.
    pub text: String,
}

impl Report {
    /// Whether nothing was found.
    #[must_use]
    pub const fn is_clean(&self) -> bool {
        self.exceptions_total == 0
    }

    pub(crate) fn count(&mut self, what: &'static str, by: u64) {
        *self.looked_at.entry(what).or_default() += by;
    }

    pub(crate) fn in_flight(&mut self, what: &'static str, by: u64) {
        if by > 0 {
            *self.in_flight.entry(what).or_default() += by;
        }
    }

    pub(crate) fn trimmed(&mut self, what: &'static str, by: u64) {
        if by > 0 {
            *self.trimmed.entry(what).or_default() += by;
        }
    }

    pub(crate) fn exception(
        &mut self,
        invariant: &'static str,
        about: impl ToString,
        text: impl Into<String>,
    ) {
        self.exceptions_total += 1;
        *self.exceptions_by_invariant.entry(invariant).or_default() += 1;
        if self.exceptions.len() < EXCEPTIONS_MAX {
            self.exceptions.push(Exception {
                invariant,
                about: about.to_string(),
                text: text.into(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_bounded_and_the_count_is_not() {
        let mut report = Report::default();
        assert!(report.is_clean());
        for number in 0..1_000 {
            report.exception("I2", number, "x");
        }
        assert_eq!(
            (report.exceptions_total, report.exceptions.len()),
            (1_000, EXCEPTIONS_MAX)
        );
        assert_eq!(report.exceptions_by_invariant["I2"], 1_000);
        assert!(!report.is_clean());
    }
}
