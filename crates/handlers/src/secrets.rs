//! Values that a definition only names: `{secret: NAME}` is looked up on the executor, when a task runs.

use std::{collections::BTreeMap, fmt, sync::Arc};

use handler::HandlerError;

/// In front of a secret's name in the environment.
const PREFIX: &str = "GENGFU_SECRET_";

/// Where secrets come from. Never shows one.
#[derive(Clone)]
pub struct Secrets(Source);

#[derive(Clone)]
enum Source {
    Environment,
    Fixed(Arc<BTreeMap<String, String>>),
}

impl Secrets {
    /// `{secret: NAME}` is the environment's `GENGFU_SECRET_NAME`.
    #[must_use]
    pub const fn from_env() -> Self {
        Self(Source::Environment)
    }

    /// Secrets that are known already, by name.
    #[must_use]
    pub fn fixed(secrets: BTreeMap<String, String>) -> Self {
        Self(Source::Fixed(Arc::new(secrets)))
    }

    fn get(&self, name: &str) -> Option<String> {
        match &self.0 {
            Source::Environment => std::env::var(format!("{PREFIX}{name}")).ok(),
            Source::Fixed(secrets) => secrets.get(name).cloned(),
        }
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets(…)")
    }
}

/// A text of a definition, or the name of a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Text {
    Plain(String),
    Secret(String),
}

impl Text {
    /// The text itself; a secret that is not there is deterministic, `secret_missing`.
    pub(crate) fn resolve(&self, secrets: &Secrets) -> Result<String, HandlerError> {
        match self {
            Self::Plain(text) => Ok(text.clone()),
            Self::Secret(name) => secrets.get(name).ok_or_else(|| {
                let message = format!("secret {name} is not set; give {PREFIX}{name} to this executor");
                HandlerError::deterministic("secret_missing", message)
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_found_by_its_name_and_never_shown() {
        let secrets = Secrets::fixed([("KEY".to_owned(), "hush".to_owned())].into());
        assert_eq!(Text::Secret("KEY".into()).resolve(&secrets).unwrap(), "hush");
        assert!(!format!("{secrets:?}").contains("hush"));
        let error = Text::Secret("OTHER".into())
            .resolve(&Secrets::from_env())
            .unwrap_err();
        assert_eq!(error.code, "secret_missing");
        assert!(error.message.contains("GENGFU_SECRET_OTHER"));
    }
}
