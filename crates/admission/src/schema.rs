//! Payloads against the JSON Schema of their type. Numbers keep their text: an integer beyond 2^53 is never a float.

use jsonschema::{ValidationError, Validator, error::ValidationErrorKind};
use serde_json::Value;

use crate::Problem;

/// Faults told of one payload; more would help nobody.
const FAULTS_MAX: usize = 20;
/// Longest reason, in bytes: it may quote the payload.
const REASON_BYTES: usize = 300;

/// A place in a payload that breaks the schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The way to it, such as `["rooms", "0", "id"]`; empty for the payload itself.
    pub path: Vec<String>,
    /// Why.
    pub reason: String,
}

impl Fault {
    /// The property of the payload in which it lies: in a table, the column.
    #[must_use]
    pub fn column(&self) -> Option<&str> {
        self.path.first().map(String::as_str)
    }

    /// The way to it behind `payload`, with dots.
    #[must_use]
    pub fn field(&self) -> String {
        let mut field = "payload".to_owned();
        for step in &self.path {
            field.push('.');
            field.push_str(step);
        }
        field
    }
}

impl From<Fault> for Problem {
    fn from(fault: Fault) -> Self {
        Self::new(fault.field(), fault.reason, "see input_schema of the type")
    }
}

/// A compiled schema. Formats are asserted; references to other documents are refused.
///
/// # Errors
/// Why it is no schema that can be used, in one sentence.
pub(crate) fn compile(schema: &Value) -> Result<Validator, String> {
    jsonschema::options()
        .offline()
        .should_validate_formats(true)
        .build(schema)
        .map_err(|error| clip(&format!("{error} at {:?}", error.instance_path().as_str())))
}

/// What a payload breaks, at most 20 faults.
pub(crate) fn faults(schema: &Validator, payload: &Value) -> Vec<Fault> {
    if schema.is_valid(payload) {
        return Vec::new();
    }
    let mut found: Vec<_> = schema
        .iter_errors(payload)
        .take(FAULTS_MAX)
        .flat_map(|error| told(&error))
        .collect();
    found.truncate(FAULTS_MAX);
    found
}

/// A fault lies where the property is, or should not be, or is missed; not at the object around it.
fn told(error: &ValidationError<'_>) -> Vec<Fault> {
    let path: Vec<String> = error
        .instance_path()
        .as_str()
        .split('/')
        .skip(1)
        .map(|step| step.replace("~1", "/").replace("~0", "~"))
        .collect();
    let below = |name: &str| path.iter().cloned().chain([name.to_owned()]).collect();
    match error.kind() {
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => unexpected
            .iter()
            .map(|name| Fault {
                path: below(name),
                reason: "the schema has no such property".into(),
            })
            .collect(),
        ValidationErrorKind::Required { property } => {
            let path = property.as_str().map_or_else(|| path.clone(), below);
            vec![Fault {
                path,
                reason: "is missing".into(),
            }]
        }
        _ => vec![Fault {
            path,
            reason: clip(&error.to_string()),
        }],
    }
}

fn clip(text: &str) -> String {
    let end = text.floor_char_boundary(REASON_BYTES);
    if end == text.len() {
        text.to_owned()
    } else {
        format!("{}…", &text[..end])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = include_str!("../../../cases/batch/schema.json");

    fn faults_of(payload: &str) -> Vec<(String, String)> {
        let schema = compile(&serde_json::from_str(SCHEMA).unwrap()).unwrap();
        let payload = serde_json::from_str(payload).unwrap();
        faults(&schema, &payload)
            .into_iter()
            .map(|fault| (fault.field(), fault.reason))
            .collect()
    }

    #[test]
    fn integers_beyond_2_to_the_53_are_integers() {
        for room in [
            "9007199254740993",
            "18446744073709551615",
            "123456789012345678901234567890",
        ] {
            let payload = format!(r#"{{"room_id":{room},"title":"a","starts_at":"2026-12-01T08:00:00Z"}}"#);
            assert_eq!(faults_of(&payload), [], "{room}");
        }
        let payload = r#"{"room_id":-18446744073709551616,"title":"a","starts_at":"2026-12-01T08:00:00Z"}"#;
        assert_eq!(faults_of(payload)[0].0, "payload.room_id");
    }

    #[test]
    fn a_fault_names_the_property_it_is_about() {
        let found = faults_of(r#"{"room_id":1.5,"title":"","stray":1}"#);
        let fields: Vec<_> = found.iter().map(|(field, _)| field.as_str()).collect();
        for field in [
            "payload.room_id",
            "payload.title",
            "payload.stray",
            "payload.starts_at",
        ] {
            assert!(fields.contains(&field), "{field} in {found:?}");
        }
    }

    #[test]
    fn formats_are_asserted() {
        let found = faults_of(r#"{"room_id":1,"title":"a","starts_at":"tomorrow"}"#);
        assert_eq!(found[0].0, "payload.starts_at");
        assert!(found[0].1.contains("date-time"), "{found:?}");
    }

    #[test]
    fn a_long_value_is_not_quoted_whole() {
        let payload = format!(
            r#"{{"room_id":"{}","title":"a","starts_at":"x"}}"#,
            "夜".repeat(9_000)
        );
        assert!(
            faults_of(&payload)
                .iter()
                .all(|(_, reason)| reason.len() <= REASON_BYTES + 3)
        );
    }

    #[test]
    fn what_is_no_schema_is_refused() {
        for schema in [
            r#"{"type":"intger"}"#,
            r#"{"$ref":"https://example.invalid/s.json"}"#,
        ] {
            assert!(
                compile(&serde_json::from_str(schema).unwrap()).is_err(),
                "{schema}"
            );
        }
    }
}
