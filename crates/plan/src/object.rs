//! Writes a JSON object with its fields in the order in which they are given.

/// The object so far.
#[derive(Default)]
pub(crate) struct Object {
    fields: String,
}

impl Object {
    /// A field whose value is JSON already.
    pub(crate) fn raw(&mut self, key: &str, json: &str) {
        if !self.fields.is_empty() {
            self.fields.push(',');
        }
        self.fields.push_str(&quoted(key));
        self.fields.push(':');
        self.fields.push_str(json);
    }

    pub(crate) fn text(&mut self, key: &str, text: &str) {
        self.raw(key, &quoted(text));
    }

    pub(crate) fn maybe_text(&mut self, key: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.text(key, text);
        }
    }

    pub(crate) fn maybe_number(&mut self, key: &str, number: Option<u64>) {
        if let Some(number) = number {
            self.raw(key, &number.to_string());
        }
    }

    pub(crate) fn maybe_duration(&mut self, key: &str, ms: Option<i64>) {
        if let Some(ms) = ms {
            self.text(key, &domain::duration::format_ms(ms));
        }
    }

    pub(crate) fn finish(self) -> String {
        format!("{{{}}}", self.fields)
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
