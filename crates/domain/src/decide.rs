//! What an event does to a task: the next state and its transitions, or why it is refused.

use crate::event::{Act, Event, Outcome, Rejection};
use crate::{ErrorClass, Millis, Status, Stop, Task, Tier, TimelineItem, Token, Verb, legal};

const DAY_MS: Millis = 24 * 3_600_000;

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
    if event.token().is_some_and(|token| task.lease_token != Some(token)) {
        return Err(Rejection::Fenced);
    }
    let mut walk = Walk {
        task: task.clone(),
        steps: Vec::with_capacity(2),
        verb,
        act,
    };
    walk.take(event)?;
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
    fn take(&mut self, event: &Event) -> Result<(), Rejection> {
        match event {
            Event::Claim {
                token,
                executor_id,
                dispatched_at,
                effective_tier,
            } => {
                self.claim(*token, executor_id, *dispatched_at, *effective_tier)?;
            }
            Event::Complete { .. } => self.complete(),
            Event::Fail {
                class,
                code,
                delay_ms,
                ..
            } => self.fail(*class, code, *delay_ms),
            Event::Overrun { delay_ms, .. } => self.overrun(*delay_ms),
            Event::Reclaim => self.reclaim(),
            Event::HandBack { .. } => self.hand_back(),
            Event::Stopped { .. } => self.stopped()?,
            Event::Cancel => self.cancel(),
            Event::Retry { max_retry } => self.again(*max_retry),
            Event::Reset { max_retry } => self.reset(*max_retry),
            Event::Set {
                max_retry,
                next_run_time,
                run_timeout_ms,
            } => self.set(*max_retry, *next_run_time, *run_timeout_ms),
        }
        Ok(())
    }

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

    fn set(&mut self, max_retry: Option<u16>, next_run_time: Option<Millis>, run_timeout_ms: Option<i64>) {
        self.task.max_retry = max_retry.unwrap_or(self.task.max_retry);
        self.task.run_timeout_ms = run_timeout_ms.unwrap_or(self.task.run_timeout_ms);
        if let Some(at) = next_run_time.filter(|_| self.task.status.is_claimable()) {
            self.due(at);
        }
        let status = self.task.status;
        self.step(status, "set by hand");
    }
}
