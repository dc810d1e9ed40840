//! Why a whole file gives no rows.

use std::io;

/// What refuses a file before anything of it is submitted, or keeps it from being read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system gave no bytes.
    #[error("{name} can't be read")]
    Read {
        /// The file's name.
        name: String,
        /// Why.
        source: io::Error,
    },
    /// Its bytes are no text of its encoding.
    #[error(
        "{name} is not {encoding}: the first bad byte is on line {line}; give the encoding that it has, such as {such_as}"
    )]
    Encoding {
        /// The file's name.
        name: String,
        /// The encoding that it should have.
        encoding: &'static str,
        /// The line of the first bad byte, from 1.
        line: u64,
        /// Another one, which it may have.
        such_as: &'static str,
    },
    /// Its header or its shape is not what its type asks for.
    #[error("{name}: {reason}")]
    Refused {
        /// The file's name.
        name: String,
        /// What is wrong, and what would be right.
        reason: String,
    },
}

impl Error {
    pub(crate) fn read(name: &str, source: io::Error) -> Self {
        Self::Read {
            name: name.to_owned(),
            source,
        }
    }

    pub(crate) fn refused(name: &str, reason: impl Into<String>) -> Self {
        Self::Refused {
            name: name.to_owned(),
            reason: reason.into(),
        }
    }
}
