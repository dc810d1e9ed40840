//! The handlers of an executor, by name.

use std::{collections::BTreeMap, fmt, sync::Arc};

use crate::TaskHandler;

/// Names of the built-in handlers, which are made from a type's definition and can't be registered.
pub const RESERVED: [&str; 5] = ["http", "command", "echo", "sleep", "fail"];

/// What the names of handlers begin with that are part of Gengfu itself.
const OURS: &str = "gengfu.";

/// Why a handler could not be registered.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum RegisterError {
    /// The name is taken, or that of a built-in handler.
    #[error("a handler named {0:?} stands already; choose another name")]
    Taken(String),
    /// The name can't stand in a type's definition.
    #[error(
        "{0:?} can't name a handler; use a-z, 0-9, '_', '.', '-', at most 100, starting with a letter or digit"
    )]
    BadName(String),
}

/// The handlers that a type's definition may name, beside the built-in ones; cheap to clone.
#[derive(Clone, Default)]
pub struct Registry(BTreeMap<String, Arc<dyn TaskHandler>>);

impl Registry {
    /// A registry without handlers.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a handler under `name`.
    ///
    /// # Errors
    /// Where the name is taken, reserved or no name.
    pub fn register(&mut self, name: &str, handler: impl TaskHandler) -> Result<(), RegisterError> {
        if !domain::valid_type(name) {
            return Err(RegisterError::BadName(name.to_owned()));
        }
        if RESERVED.contains(&name) || name.starts_with(OURS) || self.0.contains_key(name) {
            return Err(RegisterError::Taken(name.to_owned()));
        }
        self.0.insert(name.to_owned(), Arc::new(handler));
        Ok(())
    }

    /// The handler of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Arc<dyn TaskHandler>> {
        self.0.get(name).cloned()
    }

    /// Every name, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bytes, HandlerError, TaskContext, async_trait};

    struct Reply(&'static str);

    #[async_trait]
    impl TaskHandler for Reply {
        async fn run(&self, _: &TaskContext, _: Bytes) -> Result<Bytes, HandlerError> {
            Ok(self.0.into())
        }
    }

    #[tokio::test]
    async fn a_name_gives_its_own_handler() {
        let mut registry = Registry::new();
        registry.register("two", Reply("2")).unwrap();
        registry.register("one", Reply("1")).unwrap();
        assert_eq!(registry.names().collect::<Vec<_>>(), ["one", "two"]);
        let ctx = TaskContext::for_test("any");
        assert_eq!(
            registry
                .get("two")
                .unwrap()
                .run(&ctx, Bytes::new())
                .await
                .unwrap(),
            "2"
        );
        assert!(registry.get("three").is_none());
    }

    #[test]
    fn a_taken_reserved_or_bad_name_is_refused() {
        let mut registry = Registry::new();
        registry.register("one", Reply("1")).unwrap();
        assert_eq!(
            registry.register("one", Reply("1")),
            Err(RegisterError::Taken("one".into()))
        );
        for ours in ["http", "gengfu.fan-out"] {
            assert_eq!(
                registry.register(ours, Reply("1")),
                Err(RegisterError::Taken(ours.into()))
            );
        }
        assert_eq!(
            registry.register("A b", Reply("1")),
            Err(RegisterError::BadName("A b".into()))
        );
    }
}
