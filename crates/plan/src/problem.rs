//! What is wrong with a definition.

use std::fmt;

use serde::Serialize;

/// One thing that is wrong, for a person: which field, why, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The field, such as `zone` or `fan_out.path`.
    pub field: String,
    /// Why it can't be taken.
    pub reason: String,
    /// What would be right.
    pub remedy: String,
}

impl Problem {
    /// A problem with a field.
    #[must_use]
    pub fn new(field: impl Into<String>, reason: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            reason: reason.into(),
            remedy: remedy.into(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.field, self.reason, self.remedy)
    }
}
