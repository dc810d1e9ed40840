//! What a handler is told about the attempt that it runs.

use std::time::Duration;

use domain::{Millis, TaskId};

use crate::{LeaseTerm, Lines, Output, Progress, StopSignal};

/// The id in a [`TaskContext::for_test`]: a fixed one, so that tests may compare with it.
const TEST_ID: [u8; 16] = *b"\x01\x92\xf0\xc1\x2d\x3e\x7a\xbc\x8d\xef\x01\x23\x45\x67\x89\xab";
/// `run_timeout` where the type says nothing.
const RUN_TIMEOUT_DEFAULT: Duration = Duration::from_secs(300);

/// One attempt of one task, as its handler sees it; cheap enough to clone into a spawned future.
#[derive(Debug, Clone)]
pub struct TaskContext {
    task_id: TaskId,
    task_type: String,
    attempt: u32,
    planned_at: Option<Millis>,
    traceparent: String,
    run_timeout: Duration,
    output: Output,
    progress: Progress,
    lines: Option<Lines>,
    stop: StopSignal,
    lease: LeaseTerm,
    fencing_token: String,
}

/// Makes a [`TaskContext`]; what is not said has a default.
#[derive(Debug)]
#[must_use]
pub struct Builder(TaskContext);

impl TaskContext {
    /// The first attempt of this task, with a `run_timeout` of 5 minutes and a stop signal that never comes.
    pub fn builder(task_id: TaskId, task_type: impl Into<String>) -> Builder {
        let trace_id = task_id.trace_id();
        Builder(Self {
            task_id,
            task_type: task_type.into(),
            attempt: 1,
            planned_at: None,
            // No span is known here, so its id is made of the task's: never zero, and not sampled.
            traceparent: format!("00-{trace_id:032x}-{:016x}-00", trace_id as u64 | 1),
            run_timeout: RUN_TIMEOUT_DEFAULT,
            output: Output::default(),
            progress: Progress::default(),
            lines: None,
            stop: StopSignal::never(),
            lease: LeaseTerm::endless(),
            fencing_token: String::new(),
        })
    }

    /// The first attempt of a task of this type, for the tests of a handler. The task id is always the same.
    #[must_use]
    pub fn for_test(task_type: &str) -> Self {
        Self::builder(TaskId::from_bytes(TEST_ID), task_type).build()
    }

    /// The id of the task, and its trace id.
    #[must_use]
    pub const fn task_id(&self) -> TaskId {
        self.task_id
    }

    /// The name of its type.
    #[must_use]
    pub fn task_type(&self) -> &str {
        &self.task_type
    }

    /// The number of this attempt, from 1.
    #[must_use]
    pub const fn attempt(&self) -> u32 {
        self.attempt
    }

    /// The planned instant of the schedule that fired it, in milliseconds since the epoch.
    #[must_use]
    pub const fn planned_at(&self) -> Option<Millis> {
        self.planned_at
    }

    /// The key under which side effects belong: one for all attempts of the task.
    #[must_use]
    pub fn idempotency_key(&self) -> String {
        self.task_id.to_string()
    }

    /// The W3C `traceparent` of this attempt's span, to be passed on to what the handler calls.
    #[must_use]
    pub fn traceparent(&self) -> &str {
        &self.traceparent
    }

    /// How long the run may take, from its start.
    #[must_use]
    pub const fn run_timeout(&self) -> Duration {
        self.run_timeout
    }

    /// Keeps what the handler prints; people read it with the task.
    #[must_use]
    pub const fn output(&self) -> &Output {
        &self.output
    }

    /// Takes what the handler is about to do; `gengfu task explain` shows it.
    #[must_use]
    pub const fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Where the rows go, a line of JSON each, if the run is to give the rows of a batch (`fan_out` of a schedule). A
    /// handler that writes nothing there gives them by its result.
    #[must_use]
    pub const fn lines(&self) -> Option<&Lines> {
        self.lines.as_ref()
    }

    /// Says when the run must end before it is done.
    #[must_use]
    pub const fn stop(&self) -> &StopSignal {
        &self.stop
    }

    /// How long the run may count on its lease. The executor ends the run by itself when it is over.
    #[must_use]
    pub const fn lease(&self) -> &LeaseTerm {
        &self.lease
    }

    /// The fencing token of this attempt, 32 hexadecimal digits: those of a later attempt compare as larger, so that
    /// whoever keeps the largest that it saw can refuse an attempt that was overtaken. Empty in tests.
    #[must_use]
    pub fn fencing_token(&self) -> &str {
        &self.fencing_token
    }
}

impl Builder {
    /// The number of the attempt, from 1.
    pub const fn attempt(mut self, attempt: u32) -> Self {
        self.0.attempt = attempt;
        self
    }

    /// The planned instant, in milliseconds since the epoch.
    pub const fn planned_at(mut self, planned_at: Option<Millis>) -> Self {
        self.0.planned_at = planned_at;
        self
    }

    /// The W3C `traceparent` of the attempt's span.
    pub fn traceparent(mut self, traceparent: impl Into<String>) -> Self {
        self.0.traceparent = traceparent.into();
        self
    }

    /// How long the run may take.
    pub const fn run_timeout(mut self, run_timeout: Duration) -> Self {
        self.0.run_timeout = run_timeout;
        self
    }

    /// Where what is printed goes.
    pub fn output(mut self, output: Output) -> Self {
        self.0.output = output;
        self
    }

    /// Where the handler says what it is about to do.
    pub fn progress(mut self, progress: Progress) -> Self {
        self.0.progress = progress;
        self
    }

    /// Where the rows go that it gives.
    pub fn lines(mut self, lines: Lines) -> Self {
        self.0.lines = Some(lines);
        self
    }

    /// The signal that ends the run early.
    pub fn stop(mut self, stop: StopSignal) -> Self {
        self.0.stop = stop;
        self
    }

    /// The lease under which it runs.
    pub fn lease(mut self, lease: LeaseTerm) -> Self {
        self.0.lease = lease;
        self
    }

    /// The fencing token of the attempt.
    pub fn fencing_token(mut self, token: impl Into<String>) -> Self {
        self.0.fencing_token = token.into();
        self
    }

    /// The context.
    #[must_use]
    pub fn build(self) -> TaskContext {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_and_trace_are_those_of_the_task_whatever_the_attempt() {
        let first = TaskContext::for_test("a");
        let third = TaskContext::builder(first.task_id(), "a").attempt(3).build();
        assert_eq!(first.idempotency_key(), "0192f0c1-2d3e-7abc-8def-0123456789ab");
        assert_eq!(third.idempotency_key(), first.idempotency_key());
        assert_eq!(third.attempt(), 3);
        assert_eq!(
            first.traceparent(),
            "00-0192f0c12d3e7abc8def0123456789ab-8def0123456789ab-00"
        );
    }
}
