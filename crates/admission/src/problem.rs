//! What is wrong with a submission.

use serde::Serialize;

/// One thing that is wrong, for a person: which field, why, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The field, such as `tier` or `payload.room_id`.
    pub field: String,
    /// Why it can't be taken.
    pub reason: String,
    /// What would be right.
    pub remedy: String,
    #[serde(skip)]
    too_large: bool,
}

impl Problem {
    /// A problem with a field.
    #[must_use]
    pub fn new(field: impl Into<String>, reason: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            reason: reason.into(),
            remedy: remedy.into(),
            too_large: false,
        }
    }

    /// A payload of so many bytes, over the limit.
    pub(crate) fn over_limit(bytes: usize, limit: usize) -> Self {
        let reason = format!("has {bytes} bytes, more than the limit of {limit}");
        Self {
            too_large: true,
            ..Self::new("payload", reason, "store it elsewhere and pass its address")
        }
    }

    /// Whether it is only the size of the payload.
    #[must_use]
    pub const fn is_too_large(&self) -> bool {
        self.too_large
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.field, self.reason)?;
        if self.remedy.is_empty() {
            Ok(())
        } else {
            write!(f, "; {}", self.remedy)
        }
    }
}
