//! The handlers of an executor: what the SDK registered, else the built-in ones, each built once for a definition.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use domain::{HandlerSpec, TypeSpec};
use handler::{Registry, TaskHandler};

/// Most built handlers that are kept; an executor of more types builds some of them again.
const KEPT_MAX: usize = 1_024;

/// How long an address may take to give its rows, where a schedule says nothing: 5 minutes, in milliseconds.
const GET_TIMEOUT_MS: i64 = 300_000;

/// Gives the handler of a type.
#[derive(Debug)]
pub struct Handlers {
    registry: Registry,
    options: handlers::Options,
    built: Mutex<HashMap<String, Built>>,
}

struct Built {
    version: u64,
    handler: Arc<dyn TaskHandler>,
}

impl std::fmt::Debug for Built {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Built")
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

impl Handlers {
    /// Those of `registry`, and the built-in ones with these options.
    #[must_use]
    pub fn new(registry: Registry, options: handlers::Options) -> Self {
        Self {
            registry,
            options,
            built: Mutex::default(),
        }
    }

    /// The handler of a definition, which `version` of the control state holds.
    pub(crate) fn of(&self, version: u64, spec: &TypeSpec) -> Result<Arc<dyn TaskHandler>, String> {
        if let Some(handler) = self.registry.get(&spec.handler) {
            return Ok(handler);
        }
        if let Some(built) = self
            .lock()
            .get(&spec.name)
            .filter(|built| built.version == version)
        {
            return Ok(Arc::clone(&built.handler));
        }
        let handler =
            handlers::build(&spec.handler_spec(), &self.options).map_err(|error| error.to_string())?;
        self.keep(version, &spec.name, &handler);
        Ok(handler)
    }

    /// What reads an address by one GET, within `timeout_ms` or 5 minutes.
    pub(crate) fn get(&self, url: &str, timeout_ms: Option<i64>) -> Result<Arc<dyn TaskHandler>, String> {
        let timeout = domain::duration::format_ms(timeout_ms.unwrap_or(GET_TIMEOUT_MS));
        let spec = HandlerSpec {
            handler: "http".to_owned(),
            settings: serde_json::json!({"url": url, "method": "GET", "timeout": timeout}),
            errors: serde_json::Value::Null,
        };
        handlers::build(&spec, &self.options).map_err(|error| error.to_string())
    }

    fn keep(&self, version: u64, name: &str, handler: &Arc<dyn TaskHandler>) {
        let mut built = self.lock();
        if built.len() >= KEPT_MAX && !built.contains_key(name) {
            // Old definitions are of no use to anyone; if all are new, one of them is built again when it is needed.
            built.retain(|_, kept| kept.version >= version);
            if built.len() >= KEPT_MAX
                && let Some(any) = built.keys().next().cloned()
            {
                built.remove(&any);
            }
        }
        let handler = Arc::clone(handler);
        built.insert(name.to_owned(), Built { version, handler });
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Built>> {
        self.built.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use handler::{Bytes, HandlerError, TaskContext, async_trait};

    struct Own;

    #[async_trait]
    impl TaskHandler for Own {
        async fn run(&self, _: &TaskContext, _: Bytes) -> Result<Bytes, HandlerError> {
            Ok(Bytes::from("own"))
        }
    }

    fn spec(name: &str, handler: &str) -> TypeSpec {
        serde_json::from_value(serde_json::json!({"name": name, "handler": handler})).unwrap()
    }

    fn handlers() -> Handlers {
        let mut registry = Registry::new();
        registry.register("own", Own).unwrap();
        Handlers::new(registry, handlers::Options::default())
    }

    #[test]
    fn a_definition_is_built_once_and_again_when_it_changes() {
        // A handler with a setting: two that are built of none take no memory, and would look the same.
        let handlers = handlers();
        let mut spec = spec("notify", "http");
        let to = |url: &str| serde_json::from_value(serde_json::json!({"url": url})).unwrap();
        spec.http = Some(to("http://127.0.0.1:9/one"));
        let first = handlers.of(1, &spec).unwrap();
        assert!(Arc::ptr_eq(&first, &handlers.of(1, &spec).unwrap()));
        spec.http = Some(to("http://127.0.0.1:9/two"));
        let second = handlers.of(2, &spec).unwrap();
        assert!(!Arc::ptr_eq(&first, &second));
        assert!(Arc::ptr_eq(&second, &handlers.of(2, &spec).unwrap()));
    }

    #[tokio::test]
    async fn what_is_registered_runs_beside_the_built_in_ones() {
        let handlers = handlers();
        let context = TaskContext::for_test("any");
        let run = async |handler: &str| {
            let handler = handlers.of(1, &spec(handler, handler))?;
            handler
                .run(&context, Bytes::from("in"))
                .await
                .map_err(|error| error.message)
        };
        assert_eq!(run("own").await.unwrap(), "own");
        assert_eq!(run("echo").await.unwrap(), "in");
        assert!(
            run("else")
                .await
                .unwrap_err()
                .contains("\"else\" is not known here")
        );
    }

    #[test]
    fn no_more_are_kept_than_the_bound_and_old_ones_go_first() {
        let handlers = handlers();
        let build = |version, count: usize| {
            for number in 0..count {
                handlers
                    .of(version, &spec(&format!("type-{version}-{number}"), "echo"))
                    .unwrap();
            }
        };
        build(1, KEPT_MAX - 1);
        build(2, 2);
        assert_eq!(handlers.lock().len(), 2, "those of version 1 made room");
        build(2, KEPT_MAX + 10);
        assert_eq!(handlers.lock().len(), KEPT_MAX);
    }
}
