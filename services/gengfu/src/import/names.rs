//! Names out of whatever texts there are.

use std::collections::HashSet;

/// Longest name that is made; a number may follow.
const NAME_MAX: usize = 80;

/// A text as a name: `demoJobHandler` and `Demo job handler!` become `demo-job-handler`. Empty where nothing is left.
pub(crate) fn slug(text: &str) -> String {
    let mut name = String::new();
    let mut before_is_lower = false;
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            let begins_word = c.is_ascii_uppercase() && before_is_lower;
            if begins_word && !name.ends_with('-') {
                name.push('-');
            }
            name.push(c.to_ascii_lowercase());
        } else if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
        before_is_lower = c.is_ascii_lowercase() || c.is_ascii_digit();
    }
    name.truncate(NAME_MAX);
    name.trim_end_matches('-').to_owned()
}

/// Names that are taken.
#[derive(Default)]
pub(crate) struct Names(HashSet<String>);

impl Names {
    /// The name, with a number behind it where it is taken already.
    pub(crate) fn take(&mut self, name: &str) -> String {
        let mut free = name.to_owned();
        let mut number = 2;
        while !self.0.insert(free.clone()) {
            free = format!("{name}-{number}");
            number += 1;
        }
        free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_become_names_and_names_are_given_once() {
        for (text, name) in [
            ("demoJobHandler", "demo-job-handler"),
            (" Nightly  back-up! ", "nightly-back-up"),
            ("夜间备份", ""),
            ("备份 DB2", "db2"),
            ("XMLReader", "xmlreader"),
        ] {
            assert_eq!(slug(text), name, "{text}");
        }
        assert!(domain::valid_type(&slug(&"a9-".repeat(90))));
        let mut names = Names::default();
        let taken: Vec<_> = ["a", "a", "a-2", "b"]
            .iter()
            .map(|name| names.take(name))
            .collect();
        assert_eq!(taken, ["a", "a-2", "a-2-2", "b"]);
    }
}
