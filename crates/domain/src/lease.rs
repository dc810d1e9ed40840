//! Leases and fencing tokens (I3).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Millis;

/// How long a dispatched task waits to be claimed before it is ready again: as old as a hint can get.
pub const DISPATCH_LEASE_MS: Millis = 10_000;

/// A fencing token: 8 bytes of a number that never falls, then 8 random bytes. It is not the attempt number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Token(pub [u8; 16]);

impl Token {
    /// The next token of a partition: the larger of its last number + 1 and the store's microseconds.
    #[must_use]
    pub fn next(last: u64, store_micros: u64, random: [u8; 8]) -> Self {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&store_micros.max(last + 1).to_be_bytes());
        bytes[8..].copy_from_slice(&random);
        Self(bytes)
    }

    /// The number part.
    #[must_use]
    pub fn number(self) -> u64 {
        self.0[..8]
            .iter()
            .fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    /// The token in these bytes, if there are 16.
    #[must_use]
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Display for Token {
    /// 32 digits, so that texts compare as tokens do.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_never_repeats_even_if_the_last_number_was_lost() {
        let first = Token::next(0, 1_000, [1; 8]);
        assert_eq!(first.number(), 1_000);
        assert_eq!(Token::next(first.number(), 1_000, [1; 8]).number(), 1_001);
        assert_eq!(Token::next(first.number(), 999, [1; 8]).number(), 1_001);
        assert_ne!(Token::next(0, 1_000, [2; 8]), first);
    }
}
