//! Definitions of types: read, checked, and compared with what stands.

use std::collections::HashSet;

use admission::{KnownType, Problem};
use domain::TypeSpec;
use serde::Serialize;
use serde_json::{Value, value::RawValue};
use utoipa::ToSchema;

use crate::schedules::declare::FiresJson;

/// What becomes of a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    /// It is new.
    Created,
    /// It differs from what stood.
    Changed,
    /// It stands already.
    Unchanged,
    /// It goes, because nobody declares it any more.
    Deleted,
}

/// One definition.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct Change {
    /// `type`, `calendar` or `schedule`.
    pub(crate) kind: &'static str,
    /// Its name.
    pub(crate) name: String,
    /// What becomes of it.
    pub(crate) change: Outcome,
    /// The fields that change.
    pub(crate) fields: Vec<FieldChange>,
    /// Of a schedule: which of its coming fires go, come and stay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fires: Option<FiresJson>,
    /// What is allowed and yet is often not what was meant.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) warnings: Vec<String>,
}

impl Change {
    pub(crate) fn new(kind: &'static str, name: &str, change: Outcome, fields: Vec<FieldChange>) -> Self {
        Self {
            kind,
            name: name.to_owned(),
            change,
            fields,
            fires: None,
            warnings: Vec::new(),
        }
    }
}

/// One field that changes; null is not given.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct FieldChange {
    field: String,
    from: Value,
    to: Value,
}

impl FieldChange {
    pub(crate) fn new(field: &str, from: Value, to: Value) -> Self {
        let field = field.to_owned();
        Self { field, from, to }
    }
}

/// Reads definitions.
///
/// # Errors
/// All that is wrong with any of them.
pub(crate) fn read(definitions: &[&RawValue], standing: &[TypeSpec]) -> Result<Vec<TypeSpec>, Vec<Problem>> {
    let (mut specs, mut problems) = (Vec::new(), Vec::new());
    let mut names = HashSet::new();
    for (index, raw) in definitions.iter().enumerate() {
        let read = read_one(raw, standing);
        let fresh = read.and_then(|spec| match names.insert(spec.name.clone()) {
            true => Ok(spec),
            false => Err("is declared twice; keep one of them".to_owned()),
        });
        match fresh {
            Ok(spec) => specs.push(spec),
            Err(reason) => {
                let name = name_of(raw).map_or_else(String::new, |name| format!(" ({name})"));
                problems.push(Problem::new(format!("types[{index}]{name}"), reason, ""));
            }
        }
    }
    if problems.is_empty() {
        Ok(specs)
    } else {
        Err(problems)
    }
}

fn read_one(raw: &RawValue, standing: &[TypeSpec]) -> Result<TypeSpec, String> {
    let mut spec: TypeSpec = serde_json::from_str(raw.get()).map_err(|error| error.to_string())?;
    // A pause is an operator's act: a definition that does not speak of it leaves it alone.
    let says_paused =
        serde_json::from_str::<Value>(raw.get()).is_ok_and(|value| value.get("paused").is_some());
    if !says_paused {
        spec.paused = standing
            .iter()
            .any(|known| known.name == spec.name && known.paused);
    }
    check(&spec)?;
    Ok(spec)
}

/// Checks a definition whole.
///
/// # Errors
/// The field, the reason and the remedy, in one sentence.
pub(crate) fn check(spec: &TypeSpec) -> Result<(), String> {
    spec.check()?;
    KnownType::new(spec.clone())
        .map(drop)
        .map_err(|error| error.to_string())
}

fn name_of(raw: &RawValue) -> Option<String> {
    let value: Value = serde_json::from_str(raw.get()).ok()?;
    Some(value.get("name")?.as_str()?.chars().take(100).collect())
}

/// What a definition changes.
pub(crate) fn compare(spec: &TypeSpec, standing: &[TypeSpec]) -> Change {
    let (change, fields) = match standing.iter().find(|known| known.name == spec.name) {
        None => (Outcome::Created, Vec::new()),
        Some(known) => {
            let fields = changed_fields(&plain(known), &plain(spec));
            (
                if fields.is_empty() {
                    Outcome::Unchanged
                } else {
                    Outcome::Changed
                },
                fields,
            )
        }
    };
    Change::new("type", &spec.name, change, fields)
}

/// The definition as JSON; what can't be written compares as nothing.
pub(crate) fn plain(spec: &TypeSpec) -> Value {
    serde_json::to_value(spec).unwrap_or_default()
}

/// Which fields of an object differ.
pub(crate) fn changed_fields(from: &Value, to: &Value) -> Vec<FieldChange> {
    let empty = serde_json::Map::new();
    let (from, to) = (
        from.as_object().unwrap_or(&empty),
        to.as_object().unwrap_or(&empty),
    );
    let gone = from.keys().filter(|key| !to.contains_key(*key));
    to.keys()
        .chain(gone)
        .map(|key| (key, from.get(key), to.get(key)))
        .filter(|(_, before, after)| before != after)
        .map(|(key, before, after)| FieldChange {
            field: key.clone(),
            from: before.cloned().unwrap_or_default(),
            to: after.cloned().unwrap_or_default(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(texts: &[&str]) -> Vec<Box<RawValue>> {
        texts
            .iter()
            .map(|text| RawValue::from_string((*text).into()).unwrap())
            .collect()
    }

    fn read_all(texts: &[&str], standing: &[TypeSpec]) -> Result<Vec<TypeSpec>, Vec<Problem>> {
        read(&raw(texts).iter().map(|raw| &**raw).collect::<Vec<_>>(), standing)
    }

    #[test]
    fn a_curve_of_waits_can_be_declared() {
        let text =
            r#"{"name":"a","handler":"echo","backoff":{"base":"1s","factor":3,"cap":"10s"},"max_retry":3}"#;
        let spec = &read_all(&[text], &[]).unwrap()[0];
        assert_eq!(plain(spec)["backoff"]["factor"], 3);
    }

    #[test]
    fn every_bad_definition_is_named() {
        let texts = [
            r#"{"name":"a","handler":"echo","retries":1}"#,
            r#"{"name":"B","handler":"echo"}"#,
            r#"{"name":"c","handler":"echo","input_schema":{"type":"intger"}}"#,
            r#"{"name":"d","handler":"echo"}"#,
            r#"{"name":"d","handler":"echo"}"#,
            "5",
        ];
        let problems = read_all(&texts, &[]).unwrap_err();
        let fields: Vec<_> = problems.iter().map(|problem| problem.field.as_str()).collect();
        assert_eq!(
            fields,
            [
                "types[0] (a)",
                "types[1] (B)",
                "types[2] (c)",
                "types[4] (d)",
                "types[5]"
            ]
        );
        assert!(problems[0].reason.contains("retries"), "{problems:?}");
    }

    #[test]
    fn changes_are_told_field_by_field() {
        let first = read_all(&[r#"{"name":"a","handler":"echo","concurrency":5}"#], &[]).unwrap();
        assert_eq!(compare(&first[0], &[]).change, Outcome::Created);
        assert_eq!(compare(&first[0], &first).change, Outcome::Unchanged);
        let second = read_all(&[r#"{"name":"a","handler":"echo","tier":"low"}"#], &first).unwrap();
        let change = compare(&second[0], &first);
        let fields: Vec<_> = change.fields.iter().map(|field| field.field.as_str()).collect();
        assert_eq!(
            (change.change, fields),
            (Outcome::Changed, vec!["tier", "concurrency"])
        );
    }

    #[test]
    fn a_definition_that_says_nothing_of_a_pause_leaves_it_alone() {
        let paused = read_all(&[r#"{"name":"a","handler":"echo","paused":true}"#], &[]).unwrap();
        assert!(read_all(&[r#"{"name":"a","handler":"echo"}"#], &paused).unwrap()[0].paused);
        assert!(!read_all(&[r#"{"name":"a","handler":"echo","paused":false}"#], &paused).unwrap()[0].paused);
    }
}
