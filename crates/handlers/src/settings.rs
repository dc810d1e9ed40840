//! Reads a handler's section of a type's definition, field by field, so that every fault names its field.

use std::time::Duration;

use domain::duration;
use serde_json::{Map, Value};

use crate::secrets::Text;

/// Why a definition makes no handler.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field} {reason}; {remedy}")]
pub struct BuildError {
    /// The path of the field, such as `http.timeout`.
    pub field: String,
    /// What is wrong with it.
    pub reason: String,
    /// What to write instead.
    pub remedy: String,
}

impl BuildError {
    pub(crate) fn new(
        field: impl Into<String>,
        reason: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            field: field.into(),
            reason: reason.into(),
            remedy: remedy.into(),
        }
    }
}

/// A handler's section, such as `http: {…}`.
pub(crate) struct Section<'a> {
    name: &'static str,
    fields: &'a Map<String, Value>,
}

impl<'a> Section<'a> {
    /// The section `name`, which may have no other fields than `known`.
    pub(crate) fn new(name: &'static str, value: &'a Value, known: &[&str]) -> Result<Self, BuildError> {
        let Value::Object(fields) = value else {
            return Err(BuildError::new(
                name,
                "is missing",
                format!("give {name}: {{{}: …}}", known[0]),
            ));
        };
        if let Some(key) = fields.keys().find(|key| !known.contains(&key.as_str())) {
            let remedy = format!("use {}", known.join(", "));
            return Err(BuildError::new(format!("{name}.{key}"), "is not known", remedy));
        }
        Ok(Self { name, fields })
    }

    /// A fault of this field.
    pub(crate) fn fault(
        &self,
        key: &str,
        reason: impl Into<String>,
        remedy: impl Into<String>,
    ) -> BuildError {
        BuildError::new(format!("{}.{key}", self.name), reason, remedy)
    }

    /// A text, if the field is there.
    pub(crate) fn text(&self, key: &str) -> Result<Option<&'a str>, BuildError> {
        match self.fields.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if !text.is_empty() && !text.contains('\0') => Ok(Some(text)),
            Some(other) => Err(self.fault(key, format!("is no text: {other}"), "write a text without NUL")),
        }
    }

    /// A text that must be there.
    pub(crate) fn required(&self, key: &str) -> Result<&'a str, BuildError> {
        self.text(key)?
            .ok_or_else(|| self.fault(key, "is missing", format!("give {}.{key}", self.name)))
    }

    /// A duration of at most `max`, or `default`.
    pub(crate) fn duration(
        &self,
        key: &str,
        default: Duration,
        max: Duration,
    ) -> Result<Duration, BuildError> {
        let Some(text) = self.text(key)? else {
            return Ok(default);
        };
        let ms = duration::parse_ms(text)
            .map_err(|reason| self.fault(key, format!("is wrong: {reason}"), "write for example 10s"))?;
        let wait = Duration::from_millis(u64::try_from(ms).unwrap_or(0));
        if wait.is_zero() || wait > max {
            let most = duration::format_ms(i64::try_from(max.as_millis()).unwrap_or(i64::MAX));
            return Err(self.fault(
                key,
                format!("is {text}"),
                format!("give more than 0 and at most {most}"),
            ));
        }
        Ok(wait)
    }

    /// A list of texts; numbers and booleans count as their text.
    pub(crate) fn texts(&self, key: &str) -> Result<Vec<String>, BuildError> {
        let wrong = || self.fault(key, "is no list of texts", "write for example [\"-v\", \"file\"]");
        match self.fields.get(key) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(items)) => items.iter().map(|item| scalar(item).ok_or_else(wrong)).collect(),
            Some(_) => Err(wrong()),
        }
    }

    /// A map of names to texts or secrets.
    pub(crate) fn map(&self, key: &str) -> Result<Vec<(String, Text)>, BuildError> {
        match self.fields.get(key) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Object(entries)) => entries
                .iter()
                .map(|(name, value)| Ok((name.clone(), self.entry(key, name, value)?)))
                .collect(),
            Some(_) => Err(self.fault(key, "is no map", "write for example {NAME: value}")),
        }
    }

    fn entry(&self, key: &str, name: &str, value: &Value) -> Result<Text, BuildError> {
        if let Some(text) = scalar(value) {
            return Ok(Text::Plain(text));
        }
        if let Value::Object(fields) = value
            && let (1, Some(Value::String(secret))) = (fields.len(), fields.get("secret"))
            && !secret.is_empty()
            && secret
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        {
            return Ok(Text::Secret(secret.clone()));
        }
        let field = format!("{key}.{name}");
        Err(self.fault(
            &field,
            "is neither a text nor a secret",
            "write a text or {secret: NAME}",
        ))
    }
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.contains('\0') => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}
