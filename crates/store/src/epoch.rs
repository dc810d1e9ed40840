//! Which life of a store this is, so that one that lost its data or was replaced is noticed.

use std::fmt;

/// Names one life of a store: set when it is first used, and anew when it was rebuilt. 16 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Epoch(String);

impl Epoch {
    /// An epoch of 8 random bytes.
    #[must_use]
    pub fn new(random: [u8; 8]) -> Self {
        Self(format!("{:016x}", u64::from_be_bytes(random)))
    }

    /// An epoch that was written down, if it is one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        digits.then(|| Self(text.to_owned()))
    }

    /// The digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a store says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// It has no epoch: nobody used it yet, or all of it is gone.
    New,
    /// Every part of it has this epoch.
    Whole(Epoch),
    /// A part of it is gone, or is another store's; which.
    Torn(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_is_read_as_it_was_written() {
        let epoch = Epoch::new([0, 0, 1, 2, 3, 4, 5, 0xff]);
        assert_eq!(epoch.to_string(), "00000102030405ff");
        assert_eq!(Epoch::parse(epoch.as_str()), Some(epoch));
        assert!(Epoch::parse("").is_none() && Epoch::parse("00000102030405fg").is_none());
    }
}
