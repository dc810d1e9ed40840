//! Values of labels, and the bound on how many names become values.

use std::{
    collections::HashSet,
    fmt::{Error, Write},
    sync::{Arc, PoisonError, RwLock},
};

use prometheus_client::encoding::{EncodeLabelValue, LabelValueEncoder};

/// The value of a label.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Label {
    /// One of a set that the code fixes.
    Fixed(&'static str),
    /// A name that was admitted.
    Name(Arc<str>),
}

impl EncodeLabelValue for Label {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> Result<(), Error> {
        encoder.write_str(match self {
            Self::Fixed(text) => text,
            Self::Name(name) => name,
        })
    }
}

/// The names seen so far, up to a limit; those after it become `other`.
#[derive(Debug)]
pub(crate) struct Names {
    seen: RwLock<HashSet<Arc<str>>>,
    limit: usize,
}

impl Names {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            seen: RwLock::default(),
            limit,
        }
    }

    /// The label of a name; allocates only when the name is new.
    pub(crate) fn label(&self, name: &str) -> Label {
        if let Some(known) = self.seen.read().unwrap_or_else(PoisonError::into_inner).get(name) {
            return Label::Name(Arc::clone(known));
        }
        let mut seen = self.seen.write().unwrap_or_else(PoisonError::into_inner);
        if seen.len() >= self.limit && !seen.contains(name) {
            return Label::Fixed("other");
        }
        let known: Arc<str> = name.into();
        seen.insert(Arc::clone(&known));
        Label::Name(known)
    }
}
