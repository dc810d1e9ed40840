//! The handlers of our own. `main.rs` runs them in an executor, beside the built-in ones.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod count_words;

pub use count_words::{CountWords, Counts, Text};
use handler::{RegisterError, Registry, typed};

/// Every handler of ours, under the name that `handler:` of a task type gives.
///
/// # Errors
/// Where two have one name.
pub fn registry() -> Result<Registry, RegisterError> {
    let mut registry = Registry::new();
    registry.register("count-words", typed(CountWords))?;
    Ok(registry)
}
