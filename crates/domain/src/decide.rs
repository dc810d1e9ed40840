//! What an event does to a task: the next state and its transitions, or why it is refused.

use thiserror::Error;

use crate::{ErrorClass, Millis, Status, Stop, Task, Tier, TimelineItem, Token, Verb, legal};

const DAY_MS: Millis = 24 * 3_600_000;

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

    const fn token(&self) -> Option<Token> {
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

/// Decides what `event` does to `task`.
///
/// # Errors
/// The reason why it does nothing.
pub fn decide(task: &Task, event: &Event, act: &Act) -> Result<Outcome, Rejection> {
    let verb = event.verb();
    if !crate::TRANSITIONS
        .iter()
        .any(|row| row.verb == verb && row.from == Some(task.status))
    {
        return Err(Rejection::Illegal);
    }
    if event
        .token()
        .is_some_and(|token| task.lease_token != Some(token))
    {
        return Err(Rejection::Fenced);
    }
    let mut walk = Walk {
        task: task.clone(),
        steps: Vec::with_capacity(2),
        verb,
        act,
    };
    match event {
        Event::Claim {
            token,
            executor_id,
            dispatched_at,
            effective_tier,
        } => {
            walk.claim(*token, executor_id, *dispatched_at, *effective_tier)?;
        }
        Event::Complete { .. } => walk.complete(),
        Event::Fail {
            class,
            code,
            delay_ms,
            ..
        } => walk.fail(*class, code, *delay_ms),
        Event::Overrun { delay_ms, .. } => walk.overrun(*delay_ms),
        Event::Reclaim => walk.reclaim(),
        Event::HandBack { .. } => walk.hand_back(),
        Event::Stopped { .. } => walk.stopped()?,
        Event::Cancel => walk.cancel(),
        Event::Retry { max_retry } => walk.again(*max_retry),
        Event::Reset { max_retry } => walk.reset(*max_retry),
        Event::Set {
            max_retry,
            next_run_time,
            run_timeout_ms,
        } => walk.set(*max_retry, *next_run_time, *run_timeout_ms),
    }
    Ok(Outcome {
        task: walk.task,
        steps: walk.steps,
    })
}

/// A task on its way through the transitions of one event.
struct Walk<'a> {
    task: Task,
    steps: Vec<TimelineItem>,
    verb: Verb,
    act: &'a Act,
}

impl Walk<'_> {
    fn step(&mut self, to: Status, reason: &str) {
        let from = self.task.status;
        debug_assert!(
            legal(self.verb, Some(from), to),
            "{:?} {from:?} {to:?}",
            self.verb
        );
        self.task.version += 1;
        self.task.status = to;
        self.task.update_time = self.act.now;
        let failed = matches!(
            to,
            Status::Failed | Status::Timeout | Status::Retrying | Status::Dead
        );
        self.steps.push(TimelineItem {
            version: self.task.version,
            from: Some(from),
            to,
            at: self.act.now,
            attempt: self.task.attempt,
            actor: self.act.actor.clone(),
            node: self.act.node.clone(),
            reason: if self.act.reason.is_empty() {
                reason.to_owned()
            } else {
                self.act.reason.clone()
            },
            error_class: if failed { self.task.error_class } else { None },
            error_code: if failed {
                self.task.error_code.clone()
            } else {
                String::new()
            },
        });
        if to.is_terminal() && self.verb != Verb::Set {
            self.task.finished_at = self.act.now;
        }
    }

    fn error(&mut self, class: ErrorClass, code: &str) {
        self.task.error_class = Some(class);
        code.clone_into(&mut self.task.error_code);
    }

    fn leave_run(&mut self) {
        self.task.lease_token = None;
        self.task.deadline = 0;
        self.task.stop = None;
    }

    fn due(&mut self, at: Millis) {
        self.task.next_run_time = at;
    }

    fn claim(
        &mut self,
        token: Token,
        executor_id: &str,
        dispatched_at: Millis,
        effective_tier: Tier,
    ) -> Result<(), Rejection> {
        let now = self.act.now;
        if self.task.next_run_time > now {
            return Err(Rejection::NotDue);
        }
        if self.task.expire_at > 0 && self.task.expire_at < now {
            self.error(ErrorClass::Deterministic, "expired");
            self.step(Status::Dead, "expired");
            return Ok(());
        }
        self.task.attempt += 1;
        self.task.lease_token = Some(token);
        executor_id.clone_into(&mut self.task.executor_id);
        self.task.ready_at = self.task.next_run_time;
        self.task.dispatched_at = dispatched_at;
        self.task.effective_tier = effective_tier;
        self.task.claimed_at = now;
        self.task.deadline = now + self.task.run_timeout_ms;
        self.step(Status::Running, "");
        Ok(())
    }

    fn complete(&mut self) {
        self.task.error_class = None;
        self.task.error_code.clear();
        self.leave_run();
        self.step(Status::Success, "");
    }

    fn fail(&mut self, class: ErrorClass, code: &str, delay_ms: i64) {
        self.error(class, code);
        if self.obey_stop() {
            return;
        }
        self.leave_run();
        self.step(Status::Failed, "");
        if class == ErrorClass::Deterministic {
            self.step(Status::Dead, "deterministic error");
        } else {
            self.retry_or_die(delay_ms);
        }
    }

    fn overrun(&mut self, delay_ms: i64) {
        self.error(ErrorClass::Timeout, "run_timeout");
        if self.obey_stop() {
            return;
        }
        self.leave_run();
        self.step(Status::Timeout, "run_timeout");
        self.retry_or_die(delay_ms);
    }

    fn retry_or_die(&mut self, delay_ms: i64) {
        if self.task.retry_count < self.task.max_retry {
            self.task.retry_count += 1;
            self.due(self.act.now + delay_ms.max(0));
            self.step(Status::Retrying, "");
        } else {
            self.step(Status::Dead, "retries used up");
        }
    }

    fn reclaim(&mut self) {
        let now = self.act.now;
        self.error(ErrorClass::Lost, "lease_expired");
        if now - self.task.loss_since > DAY_MS {
            self.task.losses = 0;
            self.task.loss_since = now;
        }
        self.task.losses += 1;
        let stop = self.task.stop;
        self.leave_run();
        self.step(Status::Timeout, "lease expired");
        if stop == Some(Stop::Cancel) {
            self.step(Status::Cancelled, "cancel asked");
        } else if self.task.losses >= self.task.max_lost {
            "poison".clone_into(&mut self.task.error_code);
            self.step(Status::Dead, "poison");
        } else {
            self.due(now);
            self.step(Status::Pending, "lease expired");
        }
    }

    fn hand_back(&mut self) {
        if self.task.stop == Some(Stop::Cancel) {
            self.obey_stop();
            return;
        }
        self.leave_run();
        self.task.attempt -= 1;
        self.due(self.act.now);
        self.step(Status::Pending, "handed back");
    }

    fn stopped(&mut self) -> Result<(), Rejection> {
        if self.obey_stop() {
            Ok(())
        } else {
            Err(Rejection::NotAsked)
        }
    }

    fn obey_stop(&mut self) -> bool {
        let Some(stop) = self.task.stop else {
            return false;
        };
        self.leave_run();
        match stop {
            Stop::Cancel => self.step(Status::Cancelled, "cancel asked"),
            Stop::Reset => {
                self.due(self.act.now);
                self.step(Status::Pending, "reset asked");
            }
        }
        true
    }

    fn cancel(&mut self) {
        if self.task.status == Status::Running {
            self.task.stop = Some(Stop::Cancel);
            self.step(Status::Running, "cancel asked");
        } else {
            self.step(Status::Cancelled, "cancelled");
        }
    }

    fn again(&mut self, max_retry: Option<u16>) {
        self.task.max_retry = max_retry.unwrap_or(self.task.max_retry);
        self.task.retry_count = 0;
        self.task.losses = 0;
        self.task.expire_at = 0;
        self.task.finished_at = 0;
        self.due(self.act.now);
        self.step(Status::Pending, "retried by hand");
    }

    fn reset(&mut self, max_retry: Option<u16>) {
        self.task.max_retry = max_retry.unwrap_or(self.task.max_retry);
        if self.task.status == Status::Running {
            self.task.stop = Some(Stop::Reset);
            self.step(Status::Running, "reset asked");
        } else {
            self.due(self.act.now);
            self.step(Status::Pending, "reset by hand");
        }
    }

    fn set(
        &mut self,
        max_retry: Option<u16>,
        next_run_time: Option<Millis>,
        run_timeout_ms: Option<i64>,
    ) {
        self.task.max_retry = max_retry.unwrap_or(self.task.max_retry);
        self.task.run_timeout_ms = run_timeout_ms.unwrap_or(self.task.run_timeout_ms);
        if let Some(at) = next_run_time.filter(|_| self.task.status.is_claimable()) {
            self.due(at);
        }
        let status = self.task.status;
        self.step(status, "set by hand");
    }
}
