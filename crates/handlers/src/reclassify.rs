//! A type's own view of exit codes and HTTP statuses: `errors: {exit: {3: deterministic}, http: {404: transient}}`.

use std::{collections::BTreeMap, ops::RangeInclusive};

use domain::ErrorClass;
use serde_json::Value;

use crate::BuildError;

/// The sections of `errors`, with the codes that each may name.
const SECTIONS: [(&str, RangeInclusive<u16>); 2] = [("exit", 1..=255), ("http", 200..=599)];

/// The classes that a type gives to the codes of `section` (`exit` or `http`).
pub(crate) fn reclassify(errors: &Value, section: &str) -> Result<BTreeMap<u16, ErrorClass>, BuildError> {
    let Value::Object(sections) = errors else {
        return match errors {
            Value::Null => Ok(BTreeMap::new()),
            _ => Err(BuildError::new(
                "errors",
                "is no map",
                "write for example {http: {404: transient}}",
            )),
        };
    };
    let mut wanted = BTreeMap::new();
    for (name, codes) in sections {
        let Some((_, range)) = SECTIONS.iter().find(|(known, _)| known == name) else {
            return Err(BuildError::new(
                format!("errors.{name}"),
                "is not known",
                "use exit or http",
            ));
        };
        let read = read_codes(name, range, codes)?;
        if name == section {
            wanted = read;
        }
    }
    Ok(wanted)
}

fn read_codes(
    section: &str,
    range: &RangeInclusive<u16>,
    codes: &Value,
) -> Result<BTreeMap<u16, ErrorClass>, BuildError> {
    let Value::Object(codes) = codes else {
        let remedy = "write for example {404: transient}";
        return Err(BuildError::new(format!("errors.{section}"), "is no map", remedy));
    };
    let mut classes = BTreeMap::new();
    for (code, class) in codes {
        let field = format!("errors.{section}.{code}");
        let number = code
            .parse()
            .ok()
            .filter(|number| range.contains(number))
            .ok_or_else(|| {
                let remedy = format!("give a number from {} to {}", range.start(), range.end());
                BuildError::new(&field, "is no code", remedy)
            })?;
        let class = match class.as_str() {
            Some("transient") => ErrorClass::Transient,
            Some("deterministic") => ErrorClass::Deterministic,
            _ => {
                let remedy = "write transient or deterministic";
                return Err(BuildError::new(field, format!("is no class: {class}"), remedy));
            }
        };
        classes.insert(number, class);
    }
    Ok(classes)
}
