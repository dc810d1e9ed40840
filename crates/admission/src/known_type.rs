//! A type, ready to check payloads with.

use domain::TypeSpec;
use jsonschema::Validator;
use serde_json::Value;

use crate::{Fault, schema};

/// A definition and its compiled schema.
#[derive(Debug)]
pub struct KnownType {
    spec: TypeSpec,
    schema: Option<Validator>,
}

/// Why the schema of a type can't be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadSchema(pub String);

impl std::fmt::Display for BadSchema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "input_schema is no JSON Schema: {}", self.0)
    }
}

impl std::error::Error for BadSchema {}

impl KnownType {
    /// Compiles the schema of a type.
    ///
    /// # Errors
    /// When it can't be used.
    pub fn new(spec: TypeSpec) -> Result<Self, BadSchema> {
        let schema = spec
            .input_schema
            .as_ref()
            .map(schema::compile)
            .transpose()
            .map_err(BadSchema)?;
        Ok(Self { spec, schema })
    }

    /// The definition.
    #[must_use]
    pub const fn spec(&self) -> &TypeSpec {
        &self.spec
    }

    /// What a payload breaks, at most 20 faults; none where the type has no schema, for its payloads are opaque bytes.
    #[must_use]
    pub fn faults(&self, payload: &[u8]) -> Vec<Fault> {
        let Some(schema) = &self.schema else {
            return Vec::new();
        };
        match serde_json::from_slice::<Value>(payload) {
            Ok(value) => schema::faults(schema, &value),
            Err(error) => {
                let reason = format!("is no JSON, which the type's schema asks for: {error}");
                vec![Fault {
                    path: Vec::new(),
                    reason,
                }]
            }
        }
    }
}
