//! What a schedule's rule is: a cron expression, a fixed interval, or one instant.

use std::fmt;

use jiff::Timestamp;

use crate::cron::{self, Cron, Dialect};
use crate::every::Every;

/// The rule of a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Timing {
    /// By the wall clock of a zone.
    Cron(Box<Cron>),
    /// A fixed interval, whatever the clock shows.
    Every(Every),
    /// Once.
    At(Timestamp),
}

impl Timing {
    /// Reads what may stand under `cron`: an expression, a shorthand, or `@every DURATION`.
    ///
    /// # Errors
    /// As [`Cron::parse`] and [`Every::parse`].
    pub fn parse(text: &str, dialect: Option<Dialect>) -> Result<Timing, cron::Error> {
        let text = text.trim();
        let word = text.split_whitespace().next().unwrap_or_default();
        if word.eq_ignore_ascii_case("@every") {
            return Ok(Timing::Every(Every::parse(text[word.len()..].trim())?));
        }
        Ok(Timing::Cron(Box::new(Cron::parse(text, dialect)?)))
    }

    /// What is allowed and yet is often not what was meant: one sentence each.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        match self {
            Timing::Cron(cron) => cron.warnings(),
            Timing::Every(_) | Timing::At(_) => &[],
        }
    }
}

impl fmt::Display for Timing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Timing::Cron(cron) => write!(f, "{cron}"),
            Timing::Every(every) => write!(f, "@every {every}"),
            Timing::At(at) => write!(f, "{at}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_is_an_interval() {
        let shown = |text| Timing::parse(text, None).map(|timing| timing.to_string());
        assert_eq!(shown("@every 90s").unwrap(), "@every 1m30s");
        assert_eq!(shown(" @EVERY  2h ").unwrap(), "@every 2h");
        assert_eq!(shown(" 0  9 * * * ").unwrap(), "0 9 * * *");
        for text in ["@every", "@every x", "@every 0s", "@everyday"] {
            assert!(shown(text).is_err(), "{text}");
        }
    }
}
