//! What a schedule does about instants that nobody fired in time.

use domain::duration;

use crate::Problem;
use crate::fields::Fields;

/// From this lateness on an instant is a misfire, where the definition does not say: milliseconds.
pub const GRACE_MS: i64 = 60_000;
/// The most instants that a catch-up fires, where the definition does not say.
pub const CATCH_UP_MAX: u32 = 100;
/// How old an instant may be to be caught up, where the definition does not say: milliseconds.
pub const CATCH_UP_WITHIN_MS: i64 = 86_400_000;

const WORDS: &str = "skip, fire_once or catch_up, or {policy: catch_up, max: 100, within: 1d}";
const FIRES_MAX: u64 = 10_000;
const YEAR_MS: i64 = 366 * 86_400_000;

/// Which of the instants that are too late fire all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Policy {
    /// None.
    Skip,
    /// The newest.
    FireOnce,
    /// The newest `max` that are no older than `within_ms`, oldest first.
    CatchUp {
        /// How many at most.
        max: u32,
        /// How old at most, in milliseconds.
        within_ms: i64,
    },
}

impl Policy {
    /// The word used in definitions and reasons.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Skip => "skip",
            Self::FireOnce => "fire_once",
            Self::CatchUp { .. } => "catch_up",
        }
    }

    /// A catch-up with the bounds that hold where none are said.
    #[must_use]
    pub const fn catch_up() -> Self {
        Self::CatchUp {
            max: CATCH_UP_MAX,
            within_ms: CATCH_UP_WITHIN_MS,
        }
    }

    fn named(word: &str) -> Option<Self> {
        [Self::Skip, Self::FireOnce, Self::catch_up()]
            .into_iter()
            .find(|policy| policy.as_str() == word)
    }
}

/// The policy, and from when on it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Misfire {
    /// Which late instants fire.
    pub policy: Policy,
    /// An instant that is later than this is a misfire; a younger one just fires late. Milliseconds.
    pub grace_ms: i64,
}

impl Default for Misfire {
    fn default() -> Self {
        Self {
            policy: Policy::FireOnce,
            grace_ms: GRACE_MS,
        }
    }
}

impl Misfire {
    /// Reads `skip`, `{policy: catch_up, max: 3, within: 2h, grace: 5m}` or `{catch_up: {max: 3, within: 2h}}`.
    pub(crate) fn read(raw: &str) -> Result<Self, Vec<Problem>> {
        if !raw.starts_with('{') {
            let word = serde_json::from_str::<String>(raw).unwrap_or_default();
            let policy = Policy::named(&word).ok_or_else(|| unknown(raw))?;
            return Ok(Self {
                policy,
                ..Self::default()
            });
        }
        let mut fields = Fields::read("misfire", raw).map_err(|problem| vec![problem])?;
        let inner = fields.raw("catch_up");
        let policy = match inner {
            Some(inner) => bounds(inner, &mut fields.problems),
            None => fields.word("policy", "skip, fire_once or catch_up", Policy::named),
        };
        let policy = match policy {
            Some(Policy::CatchUp { .. }) if inner.is_none() => Some(read_bounds(&mut fields)),
            Some(other) => Some(other),
            None => None,
        };
        let grace_ms = fields
            .duration("grace", 1_000..=7 * 86_400_000)
            .unwrap_or(GRACE_MS);
        if policy.is_none() && fields.problems.is_empty() {
            fields.fault("policy", "is missing", "write skip, fire_once or catch_up");
        }
        match (policy, fields.finish()) {
            (Some(policy), problems) if problems.is_empty() => Ok(Self { policy, grace_ms }),
            (_, problems) => Err(problems),
        }
    }

    /// The canonical form: the word alone where it says everything.
    pub(crate) fn to_json(self) -> String {
        let word = self.policy.as_str();
        let grace = duration::format_ms(self.grace_ms);
        match self.policy {
            Policy::CatchUp { max, within_ms } => {
                let within = duration::format_ms(within_ms);
                format!(r#"{{"policy":"{word}","max":{max},"within":"{within}","grace":"{grace}"}}"#)
            }
            Policy::Skip | Policy::FireOnce if self.grace_ms == GRACE_MS => format!("\"{word}\""),
            Policy::Skip | Policy::FireOnce => format!(r#"{{"policy":"{word}","grace":"{grace}"}}"#),
        }
    }
}

fn bounds(raw: &str, problems: &mut Vec<Problem>) -> Option<Policy> {
    let read =
        Fields::read("misfire.catch_up", raw).map(|mut fields| (read_bounds(&mut fields), fields.finish()));
    match read {
        Ok((policy, wrong)) => {
            problems.extend(wrong);
            Some(policy)
        }
        Err(problem) => {
            problems.push(problem);
            None
        }
    }
}

fn read_bounds(fields: &mut Fields<'_>) -> Policy {
    let max = fields.number("max", 1..=FIRES_MAX);
    Policy::CatchUp {
        max: max
            .and_then(|max| u32::try_from(max).ok())
            .unwrap_or(CATCH_UP_MAX),
        within_ms: fields
            .duration("within", 1_000..=YEAR_MS)
            .unwrap_or(CATCH_UP_WITHIN_MS),
    }
}

fn unknown(raw: &str) -> Vec<Problem> {
    let reason = format!("{} is no misfire policy", crate::fields::shown(raw));
    vec![Problem::new("misfire", reason, format!("write {WORDS}"))]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_forms_mean_the_same_and_read_back() {
        let catch_up = |max, within_ms| Policy::CatchUp { max, within_ms };
        for (text, policy, grace_ms) in [
            (r#""skip""#, Policy::Skip, GRACE_MS),
            (
                r#"{"policy":"fire_once","grace":"5m"}"#,
                Policy::FireOnce,
                300_000,
            ),
            (r#""catch_up""#, catch_up(100, 86_400_000), GRACE_MS),
            (
                r#"{"policy":"catch_up","max":3,"within":"2h"}"#,
                catch_up(3, 7_200_000),
                GRACE_MS,
            ),
            (
                r#"{"catch_up":{"max":3,"within":"2h"},"grace":"1s"}"#,
                catch_up(3, 7_200_000),
                1_000,
            ),
        ] {
            let read = Misfire::read(text).unwrap();
            assert_eq!(read, Misfire { policy, grace_ms }, "{text}");
            assert_eq!(Misfire::read(&read.to_json()), Ok(read));
        }
        assert_eq!(Misfire::default().to_json(), r#""fire_once""#);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, field) in [
            (r#""sometimes""#, "misfire"),
            ("5", "misfire"),
            ("{}", "misfire.policy"),
            (r#"{"policy":"no"}"#, "misfire.policy"),
            (r#"{"policy":"skip","max":3}"#, "misfire.max"),
            (r#"{"policy":"catch_up","max":0}"#, "misfire.max"),
            (r#"{"catch_up":{"within":"2 h"}}"#, "misfire.catch_up.within"),
            (r#"{"catch_up":[]}"#, "misfire.catch_up"),
            (r#"{"catch_up":{},"policy":"skip"}"#, "misfire.policy"),
            (r#"{"policy":"skip","grace":"0s"}"#, "misfire.grace"),
        ] {
            let problems = Misfire::read(text).unwrap_err();
            assert_eq!(problems.len(), 1, "{text}: {problems:?}");
            assert_eq!(problems[0].field, field, "{text}: {}", problems[0]);
        }
    }
}
