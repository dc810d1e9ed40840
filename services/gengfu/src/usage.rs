//! Wrong use: what a command was given can't be meant. Exit 2, as where clap refuses.

/// One sentence, with what to write instead.
#[derive(Debug)]
pub(crate) struct Usage(String);

impl Usage {
    /// A whole sentence.
    pub(crate) fn said(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }

    /// An argument that is not usable, why, and what would be.
    pub(crate) fn new(argument: &str, error: &dyn std::error::Error, remedy: &str) -> Self {
        let mut reason = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            reason.push_str(&format!(": {cause}"));
            source = cause.source();
        }
        Self(format!("{argument}: {reason}; {remedy}"))
    }
}

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}
