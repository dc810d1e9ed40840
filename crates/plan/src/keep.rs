//! A decision as the plan table keeps it until it is carried out whole.

use domain::Millis;
use serde::{Deserialize, Serialize};

use crate::{Policy, Reason, Settlement};

/// Why what a schedule keeps is no decision.
#[derive(Debug)]
pub struct Unreadable(serde_json::Error);

impl std::fmt::Display for Unreadable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the decision that the schedule keeps can't be read")
    }
}

impl std::error::Error for Unreadable {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    from: Millis,
    to: Millis,
    until: Millis,
    why: Why,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Why {
    Skip,
    FireOnce,
    CatchUp { max: u32, within_ms: i64 },
    Backlog,
    Paused,
    Changed,
}

impl Settlement {
    /// The bytes that the plan table keeps; none for no decision.
    #[must_use]
    pub fn keep(settled: Option<&Self>) -> String {
        settled.map_or_else(String::new, |settled| {
            let kept = Kept {
                from: settled.from,
                to: settled.to,
                until: settled.until,
                why: settled.reason.into(),
            };
            // Numbers and words always become JSON.
            serde_json::to_string(&kept).unwrap_or_default()
        })
    }

    /// Reads what [`Settlement::keep`] wrote.
    ///
    /// # Errors
    /// Where it is something else.
    pub fn kept(bytes: &[u8]) -> Result<Option<Self>, Unreadable> {
        if bytes.is_empty() {
            return Ok(None);
        }
        let kept: Kept = serde_json::from_slice(bytes).map_err(Unreadable)?;
        Ok(Some(Self {
            from: kept.from,
            to: kept.to,
            until: kept.until,
            reason: kept.why.into(),
        }))
    }
}

impl From<Reason> for Why {
    fn from(reason: Reason) -> Self {
        match reason {
            Reason::Misfire(Policy::Skip) => Self::Skip,
            Reason::Misfire(Policy::FireOnce) => Self::FireOnce,
            Reason::Misfire(Policy::CatchUp { max, within_ms }) => Self::CatchUp { max, within_ms },
            Reason::Backlog => Self::Backlog,
            Reason::Paused => Self::Paused,
            Reason::Changed => Self::Changed,
        }
    }
}

impl From<Why> for Reason {
    fn from(why: Why) -> Self {
        match why {
            Why::Skip => Self::Misfire(Policy::Skip),
            Why::FireOnce => Self::Misfire(Policy::FireOnce),
            Why::CatchUp { max, within_ms } => Self::Misfire(Policy::CatchUp { max, within_ms }),
            Why::Backlog => Self::Backlog,
            Why::Paused => Self::Paused,
            Why::Changed => Self::Changed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_comes_back_as_it_was_and_nothing_else_is_one() {
        let policies = [
            Policy::Skip,
            Policy::FireOnce,
            Policy::CatchUp { max: 3, within_ms: 7 },
        ];
        let reasons = policies.map(Reason::Misfire).into_iter();
        for reason in reasons.chain([Reason::Backlog, Reason::Paused, Reason::Changed]) {
            let settled = Settlement {
                from: Millis::MAX,
                to: 5,
                until: 1_764_460_800_000,
                reason,
            };
            let kept = Settlement::keep(Some(&settled));
            assert!(kept.len() < 200, "{kept}");
            assert_eq!(Settlement::kept(kept.as_bytes()).unwrap(), Some(settled));
        }
        assert_eq!(Settlement::keep(None), "");
        assert_eq!(Settlement::kept(b"").unwrap(), None);
        assert!(Settlement::kept(b"{}").is_err());
    }
}
