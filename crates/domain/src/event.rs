//! What can happen to a task, what comes of it, and why not.

use thiserror::Error;

use crate::{ErrorClass, Millis, Task, Tier, TimelineItem, Token, Verb};

/// Something that happens to an existing task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// An executor claims it.
    Claim {
        /// The new fencing token.
        token: Token,
        /// Who claims.
        executor_id: String,
        /// When its hint was sent; 0 if it came without one.
        dispatched_at: Millis,
        /// The tier of the hint.
        effective_tier: Tier,
    },
    /// The run ended well.
    Complete {
        /// The token of the claim.
        token: Token,
    },
    /// The run ended with an error.
    Fail {
        /// The token of the claim.
        token: Token,
        /// What kind of error.
        class: ErrorClass,
        /// Its short code.
        code: String,
        /// Milliseconds until the next attempt, if there is one.
        delay_ms: i64,
    },
    /// The run was ended because it overran.
    Overrun {
        /// The token of the claim.
        token: Token,
        /// Milliseconds until the next attempt, if there is one.
        delay_ms: i64,
    },
    /// The lease expired.
    Reclaim,
    /// The executor gives it back.
    HandBack {
        /// The token of the claim.
        token: Token,
    },
    /// The executor ended the run because a stop was asked.
    Stopped {
        /// The token of the claim.
        token: Token,
    },
    /// Somebody cancels it.
    Cancel,
    /// An operator runs it again.
    Retry {
        /// A new limit of retries.
        max_retry: Option<u16>,
    },
    /// An operator makes it due now.
    Reset {
        /// A new limit of retries.
        max_retry: Option<u16>,
    },
    /// An operator changes fields.
    Set {
        /// A new limit of retries.
        max_retry: Option<u16>,
        /// A new due time, for a task that waits.
        next_run_time: Option<Millis>,
        /// A new limit of a run's time.
        run_timeout_ms: Option<i64>,
    },
}

impl Event {
    /// The verb of this event.
    #[must_use]
    pub const fn verb(&self) -> Verb {
        match self {
            Self::Claim { .. } => Verb::Claim,
            Self::Complete { .. } => Verb::Complete,
            Self::Fail { .. } => Verb::Fail,
            Self::Overrun { .. } => Verb::Overrun,
            Self::Reclaim => Verb::Reclaim,
            Self::HandBack { .. } => Verb::HandBack,
            Self::Stopped { .. } => Verb::Stopped,
            Self::Cancel => Verb::Cancel,
            Self::Retry { .. } => Verb::Retry,
            Self::Reset { .. } => Verb::Reset,
            Self::Set { .. } => Verb::Set,
        }
    }

    /// The token that must be the lease's.
    pub(crate) const fn token(&self) -> Option<Token> {
        match self {
            Self::Complete { token }
            | Self::Fail { token, .. }
            | Self::Overrun { token, .. }
            | Self::HandBack { token }
            | Self::Stopped { token } => Some(*token),
            Self::Claim { .. }
            | Self::Reclaim
            | Self::Cancel
            | Self::Retry { .. }
            | Self::Reset { .. }
            | Self::Set { .. } => None,
        }
    }
}

/// Who does it, where, when and why.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Act {
    /// The store's clock.
    pub now: Millis,
    /// A service, a person, a policy.
    pub actor: String,
    /// The node.
    pub node: String,
    /// The reason given by a person, or by the platform.
    pub reason: String,
}

/// The new state and the transitions that led to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The task after.
    pub task: Task,
    /// One or two transitions, in order.
    pub steps: Vec<TimelineItem>,
}

/// Why an event was refused. A value, not an error: races make refusals normal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
pub enum Rejection {
    /// The table has no such transition.
    #[error("not legal in this status")]
    Illegal,
    /// The token is not the lease's: the lease was lost (I3).
    #[error("the lease belongs to another claim")]
    Fenced,
    /// Its time has not come.
    #[error("not due yet")]
    NotDue,
    /// The type or everything is paused.
    #[error("paused")]
    Paused,
    /// The lease was renewed or has not ended.
    #[error("the lease has not ended")]
    Leased,
    /// There is no such task.
    #[error("no such task")]
    Missing,
    /// The caller's picture of the task is out of date; read it again.
    #[error("the task has changed in between")]
    Moved,
    /// No stop was asked of this run.
    #[error("no stop was asked")]
    NotAsked,
}

impl Rejection {
    /// The word used by the scripts and the metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Illegal => "illegal",
            Self::Fenced => "fenced",
            Self::NotDue => "not_due",
            Self::Paused => "paused",
            Self::Leased => "leased",
            Self::Missing => "missing",
            Self::Moved => "moved",
            Self::NotAsked => "not_asked",
        }
    }

    /// The refusal with this word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [
            Self::Illegal,
            Self::Fenced,
            Self::NotDue,
            Self::Paused,
            Self::Leased,
            Self::Missing,
            Self::Moved,
            Self::NotAsked,
        ]
        .into_iter()
        .find(|refusal| refusal.as_str() == word)
    }
}
