//! The definition of a task type, as it stands in YAML and in the API.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Backoff, Tier, duration};

/// Most characters of a type's or pool's name.
const NAME_MAX: usize = 100;
/// The handler that makes a batch of a fire, and the type of its tasks where nobody declared one of their own.
pub const FAN_OUT: &str = "gengfu.fan-out";

/// A task type: what runs, where, how often again, how long.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TypeSpec {
    /// `[a-z0-9][a-z0-9_.-]*`, at most 100 characters.
    pub name: String,
    /// `http`, `command`, `echo`, `sleep`, `fail`, or one registered through the SDK.
    pub handler: String,
    /// Settings of the `http` handler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<Map<String, Value>>,
    /// Settings of the `command` handler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Map<String, Value>>,
    /// The pool whose executors run it.
    #[serde(default = "default_pool")]
    pub pool: String,
    /// The tier of a task that names none.
    #[serde(default = "default_tier")]
    pub tier: Tier,
    /// Retries of a task that names no limit; the tier's default if not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_retry: Option<u16>,
    /// Executors that may vanish under a task before it is poison.
    #[serde(default = "default_max_lost")]
    pub max_lost: u16,
    /// The waits between attempts.
    #[serde(default)]
    pub backoff: Backoff,
    /// How long a run may take.
    #[serde(default = "default_run_timeout")]
    pub run_timeout: String,
    /// Not started after this long: dead, `expired`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expire_after: Option<String>,
    /// Runs at a time in the whole fleet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    /// Starts per time in the whole fleet, such as `100/s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<String>,
    /// JSON Schema (2020-12) of the payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<Value>,
    /// Reclassification of exit codes and HTTP statuses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errors: Option<Map<String, Value>>,
    /// What follows where the request went out and no answer came: `retry` or `dead`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_unknown_outcome: Option<String>,
    /// Whether its tasks may start.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,
}

/// A view of the part of a type that builds its handler.
#[derive(Debug, Clone, PartialEq)]
pub struct HandlerSpec {
    /// The handler's name.
    pub handler: String,
    /// Its section of the definition.
    pub settings: Value,
    /// Reclassification of its errors.
    pub errors: Value,
}

fn default_pool() -> String {
    "default".into()
}

const fn default_tier() -> Tier {
    Tier::Normal
}

const fn default_max_lost() -> u16 {
    3
}

fn default_run_timeout() -> String {
    "5m".into()
}

/// Whether this can name a type.
#[must_use]
pub fn valid_type(name: &str) -> bool {
    valid_name(
        name,
        |c| matches!(c, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.' | b'-'),
    )
}

/// Whether this can name a pool: one token of a subject.
#[must_use]
pub fn valid_pool(name: &str) -> bool {
    valid_name(name, |c| matches!(c, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-'))
}

fn valid_name(name: &str, allowed: impl Fn(u8) -> bool) -> bool {
    let first = name
        .bytes()
        .next()
        .is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    first && name.len() <= NAME_MAX && name.bytes().all(allowed)
}

impl TypeSpec {
    /// The type of the tasks that make a batch of a fire, as it is where nobody declares it: many rows take their time,
    /// and a run that goes on where another ended does no harm, however many executors vanish under it.
    #[must_use]
    pub fn fan_out() -> Self {
        Self {
            name: FAN_OUT.to_owned(),
            handler: FAN_OUT.to_owned(),
            http: None,
            command: None,
            pool: default_pool(),
            tier: default_tier(),
            max_retry: None,
            max_lost: 10,
            backoff: Backoff::default(),
            run_timeout: "1h".to_owned(),
            expire_after: None,
            concurrency: None,
            rate: None,
            input_schema: None,
            errors: None,
            on_unknown_outcome: None,
            paused: false,
        }
    }

    /// Milliseconds that a run may take.
    #[must_use]
    pub fn run_timeout_ms(&self) -> i64 {
        duration::parse_ms(&self.run_timeout).unwrap_or(300_000)
    }

    /// Milliseconds after which a task that did not start is dead; none: never.
    #[must_use]
    pub fn expire_after_ms(&self) -> Option<i64> {
        self.expire_after
            .as_deref()
            .and_then(|text| duration::parse_ms(text).ok())
    }

    /// Retries of a task of `tier` that names no limit.
    #[must_use]
    pub fn max_retry_for(&self, tier: Tier) -> u16 {
        self.max_retry.unwrap_or_else(|| tier.default_max_retry())
    }

    /// What builds its handler.
    #[must_use]
    pub fn handler_spec(&self) -> HandlerSpec {
        let section = match self.handler.as_str() {
            "http" => self.http.clone(),
            "command" => self.command.clone(),
            _ => None,
        };
        HandlerSpec {
            handler: self.handler.clone(),
            settings: section.map_or(Value::Null, Value::Object),
            errors: self.errors.clone().map_or(Value::Null, Value::Object),
        }
    }

    /// Checks every field that its shape alone does not.
    ///
    /// # Errors
    /// The field, the reason and the remedy, in one sentence.
    pub fn check(&self) -> Result<(), String> {
        if !valid_type(&self.name) {
            return Err(format!(
                "name {:?} is no type name; use a-z, 0-9, '_', '.', '-', at most {NAME_MAX}, starting with a letter or digit",
                self.name
            ));
        }
        if self.name == FAN_OUT && self.handler != FAN_OUT {
            return Err(format!(
                "name {FAN_OUT:?} is that of the built-in type; give another one, or handler: {FAN_OUT}"
            ));
        }
        if !valid_pool(&self.pool) {
            return Err(format!(
                "pool {:?} is no pool name; use a-z, 0-9, '_', '-', starting with a letter or digit",
                self.pool
            ));
        }
        self.backoff.check().map_err(|error| error.to_string())?;
        match duration::parse_ms(&self.run_timeout) {
            Err(error) => return Err(format!("run_timeout {error}")),
            Ok(0) => return Err("run_timeout is 0; a run needs some time, such as 5m".into()),
            Ok(_) => {}
        }
        if let Some(text) = &self.expire_after {
            duration::parse_ms(text).map_err(|error| format!("expire_after {error}"))?;
        }
        if self.max_lost == 0 {
            return Err("max_lost is 0; give 1 or more".into());
        }
        if self.handler == "http" && self.http.is_none() {
            return Err("http is missing; give http: {url: …} beside handler: http".into());
        }
        if self.handler == "command" && self.command.is_none() {
            return Err("command is missing; give command: {program: …} beside handler: command".into());
        }
        match self.on_unknown_outcome.as_deref() {
            None | Some("retry" | "dead") => Ok(()),
            Some(other) => Err(format!("on_unknown_outcome is retry or dead, not {other:?}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(text: &str) -> Result<TypeSpec, serde_json::Error> {
        serde_json::from_str(text)
    }

    #[test]
    fn defaults_are_those_of_the_design() {
        let spec = spec(r#"{"name":"a.b","handler":"echo"}"#).unwrap();
        assert_eq!(spec.check(), Ok(()));
        assert_eq!(
            (spec.max_retry_for(Tier::Critical), spec.max_retry_for(Tier::Low)),
            (5, 3)
        );
        assert_eq!((spec.run_timeout_ms(), spec.max_lost), (300_000, 3));
        assert_eq!(TypeSpec::fan_out().check(), Ok(()));
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(
            spec(r#"{"name":"a","handler":"echo","retries":1}"#)
                .unwrap_err()
                .to_string()
                .contains("retries")
        );
        for (text, field) in [
            (r#"{"name":"A","handler":"echo"}"#, "name"),
            (r#"{"name":"a","handler":"echo","pool":"x.y"}"#, "pool"),
            (
                r#"{"name":"a","handler":"echo","run_timeout":"5"}"#,
                "run_timeout",
            ),
            (r#"{"name":"a","handler":"http"}"#, "http"),
            (r#"{"name":"gengfu.fan-out","handler":"echo"}"#, "built-in"),
            (
                r#"{"name":"a","handler":"echo","on_unknown_outcome":"x"}"#,
                "on_unknown_outcome",
            ),
        ] {
            assert!(spec(text).unwrap().check().unwrap_err().contains(field), "{text}");
        }
    }
}
