//! Values that know how they are written: durations, addresses with passwords, formats.

use std::{fmt, time::Duration};

use domain::duration;
use serde::{Deserialize, Serialize};

/// A duration that is written `500ms`, `30s`, `5m`, `2h` or `7d`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HumanDuration(i64);

impl HumanDuration {
    /// So many milliseconds.
    #[must_use]
    pub const fn millis(ms: i64) -> Self {
        Self(ms)
    }

    /// So many seconds.
    #[must_use]
    pub const fn secs(seconds: i64) -> Self {
        Self(seconds * 1_000)
    }

    /// So many days.
    #[must_use]
    pub const fn days(days: i64) -> Self {
        Self(days * 86_400_000)
    }

    /// In milliseconds.
    #[must_use]
    pub const fn as_ms(self) -> i64 {
        self.0
    }

    /// As the standard library has it.
    #[must_use]
    pub fn as_duration(self) -> Duration {
        Duration::from_millis(u64::try_from(self.0).unwrap_or(0))
    }
}

impl TryFrom<String> for HumanDuration {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        duration::parse_ms(&text).map(Self)
    }
}

impl From<HumanDuration> for String {
    fn from(duration: HumanDuration) -> Self {
        duration.to_string()
    }
}

impl fmt::Display for HumanDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&duration::format_ms(self.0))
    }
}

/// An address that may hold a password, which only [`Address::expose`] shows. Empty where there is none.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Address(String);

impl Address {
    /// The address with its password, for the client that connects.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether none is set.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<&str> for Address {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&mask_address(&self.0))
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&mask_address(&self.0), f)
    }
}

/// The text with `***` for what stands between `://` and `@`, but for a user's name: a NATS token stands there alone.
pub(super) fn mask_address(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (head, tail) = rest.split_at(at + 3);
        out.push_str(head);
        let authority = &tail[..tail.find(['/', ',', '?', ' ']).unwrap_or(tail.len())];
        rest = tail;
        if let Some((userinfo, _)) = authority.rsplit_once('@') {
            match userinfo.split_once(':') {
                Some((user, _)) => out.extend([user, ":***"]),
                None => out.push_str("***"),
            }
            rest = &tail[userinfo.len()..];
        }
    }
    out.push_str(rest);
    out
}

/// A text that only [`Secret::expose`] shows. Empty where there is none.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// The text itself, for who needs it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "\"\"" } else { "***" })
    }
}

/// How a log line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", rename_all = "lowercase")]
pub enum LogFormat {
    /// One JSON object a line.
    Json,
    /// For the eyes.
    Text,
}

impl TryFrom<String> for LogFormat {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.as_str() {
            "json" => Ok(Self::Json),
            "text" => Ok(Self::Text),
            _ => Err(format!("{text:?} is no format; write json or text")),
        }
    }
}
