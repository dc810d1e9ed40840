//! Tiers: which tasks go first, and how long the others may wait.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// The tier of a task. The numbers are those of the store and the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Tier {
    /// Before all others.
    Critical = 1,
    /// Before normal work.
    High = 2,
    /// The default.
    Normal = 3,
    /// Whatever is left, but never starved.
    Low = 4,
}

impl Tier {
    /// Every tier, the most urgent first.
    pub const ALL: [Self; 4] = [Self::Critical, Self::High, Self::Normal, Self::Low];

    /// The word used in subjects, the API and the metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::High => "high",
            Self::Normal => "normal",
            Self::Low => "low",
        }
    }

    /// The tier with this number.
    #[must_use]
    pub fn from_u8(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|tier| *tier as u8 == number)
    }

    /// Its share of starts while all tiers have work, relative to the others.
    #[must_use]
    pub const fn weight(self) -> u32 {
        match self {
            Self::Critical => 8,
            Self::High => 4,
            Self::Normal => 2,
            Self::Low => 1,
        }
    }

    /// Milliseconds after which a waiting task counts as aged (I8); a critical task never waits behind another tier.
    #[must_use]
    pub const fn max_wait_ms(self) -> i64 {
        match self {
            Self::Critical => 10_000,
            Self::High => 30_000,
            Self::Normal => 300_000,
            Self::Low => 1_800_000,
        }
    }

    /// Retries of a task that names no limit of its own.
    #[must_use]
    pub const fn default_max_retry(self) -> u16 {
        match self {
            Self::Critical => 5,
            Self::High | Self::Normal | Self::Low => 3,
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Tier {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|tier| tier.as_str() == name)
            .ok_or_else(|| format!("tier is one of critical, high, normal, low, not {name:?}"))
    }
}
