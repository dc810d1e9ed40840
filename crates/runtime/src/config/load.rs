//! Reads the sources one over the other, and says in one sentence what is wrong with them.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use figment::{
    Figment, Metadata, Profile, Provider,
    providers::Serialized,
    value::{Dict, Map, Value},
};
use thiserror::Error as ThisError;

use super::{Config, nearest::nearest, values::mask_address};
use crate::fault_point;

/// Names in the environment that are ours, but are no keys.
const NO_KEYS: [&str; 4] = [
    "GENGFU_SERVER",
    "GENGFU_TOKEN",
    "GENGFU_NATS_SERVER",
    "GENGFU_REDIS_SERVER",
];
/// Largest file that is read, in bytes.
const FILE_BYTES: u64 = 1024 * 1024;

/// Where settings come from; a later one wins.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// The file, in TOML.
    pub file: Option<PathBuf>,
    /// The environment: `GENGFU_NATS__URL` is `nats.url`, `GENGFU__LISTEN` is `listen`.
    pub environment: Vec<(String, String)>,
    /// Flags by key, such as `nats.url`.
    pub flags: BTreeMap<String, String>,
}

/// A configuration, and what the log should say about how it came to be.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The settings.
    pub config: Config,
    /// Names in the environment that look like ours and are not; for the log, once it is set up.
    pub warnings: Vec<String>,
}

/// Why there is no configuration. The text is one sentence for the person who wrote it.
#[derive(Debug, ThisError)]
pub enum Error {
    /// The file can't be read.
    #[error("configuration file {} can't be read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// The file is no TOML.
    #[error("configuration file {}, line {line}: {message}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// A key that does not exist.
    #[error("{key} in {origin} is unknown; did you mean {nearest}?")]
    Unknown {
        /// The key.
        key: String,
        /// Where it stands.
        origin: String,
        /// The known key that is most like it.
        nearest: String,
    },
    /// A value that does not fit.
    #[error("{key} in {origin}: {message}")]
    Value {
        /// The key.
        key: String,
        /// Where it stands.
        origin: String,
        /// What is wrong, and what would be right.
        message: String,
    },
}

impl Sources {
    /// This process's environment, with the file and the flags given.
    #[must_use]
    pub fn of_process(file: Option<&Path>, flags: BTreeMap<String, String>) -> Self {
        // Values that are no text can't be ours.
        let environment = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        Self {
            file: file.map(Path::to_owned),
            environment: environment.collect(),
            flags,
        }
    }

    /// Reads them all.
    ///
    /// # Errors
    /// A file that can't be read, an unknown key, a bad value: each as one sentence.
    pub fn load(&self) -> Result<Loaded, Error> {
        let defaults = Serialized::defaults(Config::default());
        let known = flatten(&defaults.data().map_err(refuse)?);
        let mut merged = Figment::from(defaults);
        if let Some(path) = &self.file {
            merged = merged.merge(Layer::of_file(path, &known)?);
        }
        let mut warnings = Vec::new();
        for (name, value) in &self.environment {
            match key_of(name) {
                Name::Key(key) => {
                    let origin = format!("environment variable {name}");
                    merged = merged.merge(Layer::of_text(&key, value, origin, &known)?);
                }
                Name::Foreign => warnings.push(format!(
                    "{name} in the environment is no setting; a setting has two underscores, as GENGFU_NATS__URL"
                )),
                Name::Other => {}
            }
        }
        for (key, value) in &self.flags {
            merged = merged.merge(Layer::of_text(key, value, format!("flag --{key}"), &known)?);
        }
        let config: Config = merged.extract().map_err(refuse)?;
        config.check().map_err(|(key, message)| {
            let origin = merged
                .find_metadata(key)
                .map_or("configuration", |origin| &origin.name);
            Error::Value {
                key: key.into(),
                origin: origin.to_owned(),
                message,
            }
        })?;
        Ok(Loaded { config, warnings })
    }
}

enum Name {
    Key(String),
    Foreign,
    Other,
}

/// What a name in the environment means to us.
fn key_of(name: &str) -> Name {
    let Some(rest) = name.strip_prefix("GENGFU_") else {
        return Name::Other;
    };
    if cfg!(feature = "fault-points") && name == fault_point::VARIABLE {
        return Name::Other;
    }
    if NO_KEYS.contains(&name) || rest.starts_with("SECRET_") {
        return Name::Other;
    }
    // `GENGFU__LISTEN`: a key without a section.
    let rest = rest
        .strip_prefix('_')
        .map_or_else(|| rest.contains("__").then_some(rest), Some);
    rest.map_or(Name::Foreign, |rest| {
        Name::Key(rest.to_lowercase().replace("__", "."))
    })
}

/// One source: its values, and how to call it.
struct Layer {
    values: Dict,
    origin: String,
}

impl Provider for Layer {
    fn metadata(&self) -> Metadata {
        Metadata::named(self.origin.clone())
    }

    fn data(&self) -> Result<Map<Profile, Dict>, figment::Error> {
        Ok(Profile::Default.collect(self.values.clone()))
    }
}

impl Layer {
    fn of_file(path: &Path, known: &BTreeMap<String, Value>) -> Result<Self, Error> {
        let text = read(path).map_err(|source| Error::Read {
            path: path.into(),
            source,
        })?;
        let table: toml::Table = toml::from_str(&text).map_err(|error| {
            let before = error.span().map_or("", |span| &text[..span.start]);
            let line = before.matches('\n').count() + 1;
            let message = error.message().replace('\n', " ");
            Error::Syntax {
                path: path.into(),
                line,
                message,
            }
        })?;
        let origin = format!("configuration file {}", path.display());
        let values = Value::serialize(&table)
            .map_err(refuse)?
            .into_dict()
            .unwrap_or_default();
        for key in flatten_dict(&values).keys() {
            ensure_known(key, &origin, known)?;
        }
        Ok(Self { values, origin })
    }

    fn of_text(
        key: &str,
        text: &str,
        origin: String,
        known: &BTreeMap<String, Value>,
    ) -> Result<Self, Error> {
        ensure_known(key, &origin, known)?;
        let value = known
            .get(key)
            .map_or_else(|| Value::from(text), |like| typed(text, like));
        let values = figment::util::nest(key, value).into_dict().unwrap_or_default();
        Ok(Self { values, origin })
    }
}

fn read(path: &Path) -> std::io::Result<String> {
    if fs::metadata(path)?.len() > FILE_BYTES {
        return Err(std::io::Error::other("it is larger than 1 MiB"));
    }
    fs::read_to_string(path)
}

/// The text as the kind of value that the default is, so that `executor.id` may be `7`. What does not fit stays a
/// text, and is refused by the type.
fn typed(text: &str, like: &Value) -> Value {
    let parsed = match like {
        Value::Bool(..) => text.parse::<bool>().ok().map(Value::from),
        Value::Num(..) => {
            let whole = text.parse::<i64>().ok().map(Value::from);
            whole.or_else(|| text.parse::<f64>().ok().map(Value::from))
        }
        Value::Array(..) if text.trim_start().starts_with('[') => {
            let items = serde_json::from_str::<Vec<String>>(text).ok();
            items.map(|items| Value::from(items.into_iter().map(Value::from).collect::<Vec<_>>()))
        }
        Value::Array(..) => {
            let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
            Some(Value::from(items.map(Value::from).collect::<Vec<_>>()))
        }
        Value::String(..) | Value::Char(..) | Value::Dict(..) | Value::Empty(..) => None,
    };
    parsed.unwrap_or_else(|| Value::from(text))
}

fn ensure_known(key: &str, origin: &str, known: &BTreeMap<String, Value>) -> Result<(), Error> {
    let section = format!("{key}.");
    // A section itself is known; that its value is no table, the type says.
    if known.contains_key(key) || known.keys().any(|known| known.starts_with(&section)) {
        return Ok(());
    }
    let names: Vec<String> = known.keys().cloned().collect();
    let nearest = nearest(key, &names).unwrap_or_default().to_owned();
    Err(Error::Unknown {
        key: key.into(),
        origin: origin.into(),
        nearest,
    })
}

fn flatten(profiles: &Map<Profile, Dict>) -> BTreeMap<String, Value> {
    profiles.values().flat_map(flatten_dict).collect()
}

/// Every value by its dotted key.
fn flatten_dict(dict: &Dict) -> BTreeMap<String, Value> {
    let mut flat = BTreeMap::new();
    for (key, value) in dict {
        match value {
            Value::Dict(_, inner) if !inner.is_empty() => {
                flat.extend(
                    flatten_dict(inner)
                        .into_iter()
                        .map(|(below, value)| (format!("{key}.{below}"), value)),
                );
            }
            _ => {
                flat.insert(key.clone(), value.clone());
            }
        }
    }
    flat
}

fn refuse(error: figment::Error) -> Error {
    let error = error.into_iter().next();
    let (key, origin, message) = error.map_or_else(Default::default, |error| {
        let origin = error
            .metadata
            .map_or_else(|| "configuration".into(), |origin| origin.name.into_owned());
        (
            error.path.join("."),
            origin,
            mask_address(&error.kind.to_string()),
        )
    });
    Error::Value { key, origin, message }
}
