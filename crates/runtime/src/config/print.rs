//! Shows the configuration as it is in effect.

use toml::{Table, Value};

use super::{Config, values::mask_address};

/// A key with one of these in its last part holds a secret.
const SECRET: [&str; 5] = ["password", "token", "secret", "credential", "webhook_url"];

impl Config {
    /// The text of `--print-config`: TOML with the secrets masked.
    #[must_use]
    pub fn print(&self) -> String {
        let mut table = Table::try_from(self).unwrap_or_default();
        mask(&mut table);
        toml::to_string(&table).unwrap_or_default()
    }
}

fn mask(table: &mut Table) {
    for (key, value) in table.iter_mut() {
        match value {
            Value::Table(inner) => mask(inner),
            Value::String(text) if SECRET.iter().any(|word| key.contains(word)) && !text.is_empty() => {
                *text = "***".into();
            }
            Value::String(text) => *text = mask_address(text),
            Value::Array(_)
            | Value::Boolean(_)
            | Value::Datetime(_)
            | Value::Float(_)
            | Value::Integer(_) => {}
        }
    }
}
