//! From a type's definition to the handler that runs its tasks.

use std::sync::Arc;

use domain::HandlerSpec;
use handler::{TaskHandler, typed};

use crate::{
    BuildError, CommandPolicy, Secrets,
    command::{self, Supervisor},
    echo::Echo,
    fail::Fail,
    http,
    sleep::Sleep,
};

/// Names of the handlers that [`build`] makes.
pub const BUILT_IN: [&str; 5] = ["http", "command", "echo", "sleep", "fail"];

/// Most bytes of a result where nothing else is configured.
const RESULT_BYTES_DEFAULT: usize = 256 * 1024;

/// What the executor gives to the built-in handlers. Make it once: its clones share one HTTP client.
#[derive(Debug, Clone)]
pub struct Options {
    /// Most bytes of a result; what an endpoint or a program sends beyond is cut off, and the output says so.
    pub result_bytes: usize,
    /// Programs that `command` may run; none unless configured (`executor.commands`).
    pub commands: CommandPolicy,
    /// How the supervisor of a command is started.
    pub supervisor: Supervisor,
    /// Where `{secret: NAME}` comes from.
    pub secrets: Secrets,
    /// The client of `http`.
    pub http: http::Client,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            result_bytes: RESULT_BYTES_DEFAULT,
            commands: CommandPolicy::Only(Vec::new()),
            supervisor: Supervisor::default(),
            secrets: Secrets::from_env(),
            http: http::Client::default(),
        }
    }
}

/// Makes the built-in handler that a type names. Looks at nothing but the definition, so a type can be checked
/// anywhere: secrets, permitted programs and files are looked up when a task runs.
///
/// # Errors
/// Names the field, the reason and the remedy.
pub fn build(spec: &HandlerSpec, options: &Options) -> Result<Arc<dyn TaskHandler>, BuildError> {
    match spec.handler.as_str() {
        "http" => Ok(Arc::new(http::Http::build(spec, options)?)),
        "command" => Ok(Arc::new(command::Command::build(spec, options)?)),
        "echo" => Ok(Arc::new(Echo)),
        "sleep" => Ok(Arc::new(typed(Sleep))),
        "fail" => Ok(Arc::new(typed(Fail))),
        other => Err(BuildError::new(
            "handler",
            format!("{other:?} is not known here"),
            format!(
                "use one of {}, or an executor that registers it",
                BUILT_IN.join(", ")
            ),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refuse(handler: &str, settings: serde_json::Value, errors: serde_json::Value) -> String {
        let spec = HandlerSpec {
            handler: handler.into(),
            settings,
            errors,
        };
        build(&spec, &Options::default())
            .err()
            .expect("refused")
            .to_string()
    }

    #[test]
    fn the_reserved_names_are_those_that_can_be_built() {
        assert_eq!(handler::RESERVED, BUILT_IN);
        for name in BUILT_IN {
            let settings = match name {
                "http" => json!({"url": "http://127.0.0.1:9/"}),
                "command" => json!({"program": "true"}),
                _ => json!(null),
            };
            let spec = HandlerSpec {
                handler: name.into(),
                settings,
                errors: json!(null),
            };
            assert!(build(&spec, &Options::default()).is_ok(), "{name}");
        }
        assert!(refuse("htp", json!(null), json!(null)).contains("http, command, echo"));
    }

    /// Each settings' fault is shown under this field, with a remedy.
    fn names_its_field(handler: &str, errors: &serde_json::Value, cases: &[(&str, serde_json::Value)]) {
        for (field, settings) in cases {
            let message = refuse(handler, settings.clone(), errors.clone());
            assert!(
                message.starts_with(&format!("{field} ")) && message.contains("; "),
                "{field}: {message}"
            );
        }
    }

    #[test]
    fn what_is_wrong_in_an_http_section_is_named() {
        let with =
            |field: &str, value: serde_json::Value| json!({"url": "http://127.0.0.1:9/", field: value});
        let cases = [
            ("http.url", json!({})),
            ("http.url", json!({"url": "127.0.0.1:9"})),
            ("http.url", json!({"url": "ftp://a/"})),
            ("http.verb", with("verb", json!("GET"))),
            ("http.method", with("method", json!("GE T"))),
            ("http.timeout", with("timeout", json!("10"))),
            ("http.timeout", with("timeout", json!("0s"))),
            ("http.headers", with("headers", json!([]))),
            ("http.headers.a b", with("headers", json!({"a b": "c"}))),
            ("http.headers.a", with("headers", json!({"a": {"secrt": "c"}}))),
            ("http.headers.a", with("headers", json!({"a": "line\nfeed"}))),
            (
                "http.headers.Traceparent",
                with("headers", json!({"Traceparent": "c"})),
            ),
        ];
        names_its_field("http", &json!(null), &cases);
    }

    #[test]
    fn what_is_wrong_in_a_command_section_is_named() {
        let with = |field: &str, value: serde_json::Value| json!({"program": "x", field: value});
        let cases = [
            ("command", json!(null)),
            ("command.program", json!({"args": []})),
            ("command.program", json!({"program": "bin/x"})),
            ("command.args", with("args", json!("y"))),
            ("command.env.A=B", with("env", json!({"A=B": "y"}))),
            (
                "command.env.GENGFU_TASK_ID",
                with("env", json!({"GENGFU_TASK_ID": "y"})),
            ),
            ("command.cwd", with("cwd", json!("y"))),
            ("command.grace", with("grace", json!("2h"))),
        ];
        names_its_field("command", &json!(null), &cases);
    }

    #[test]
    fn what_is_wrong_in_a_reclassification_is_named() {
        for (field, errors) in [
            ("errors", json!([])),
            ("errors.htp", json!({"htp": {}})),
            ("errors.http.999", json!({"http": {"999": "transient"}})),
            ("errors.http.404", json!({"http": {"404": "retry"}})),
            ("errors.exit.256", json!({"exit": {"256": "transient"}})),
        ] {
            names_its_field("command", &errors, &[(field, json!({"program": "x"}))]);
        }
    }
}
