//! What a failed attempt reports: its class, a code, and a message with the causes.

use std::{borrow::Cow, error::Error, fmt, time::Duration};

use domain::ErrorClass;

use crate::StopReason;

/// Most bytes of a code.
const CODE_BYTES: usize = 64;

/// Why an attempt failed.
///
/// Any `std::error::Error` becomes one by `?`: transient, with code `handler_error`. For that it is no
/// `std::error::Error` itself. An `anyhow::Error` becomes one by [`HandlerError::from_boxed`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandlerError {
    /// Decides what follows: transient is retried, deterministic is dead at once.
    pub class: ErrorClass,
    /// A short word to filter and count by, such as `http_503`; at most 64 bytes.
    pub code: Cow<'static, str>,
    /// What happened, with the chain of causes; its middle is cut out above 8 KiB.
    pub message: String,
    /// Do not try again before this much time has passed.
    pub retry_after: Option<Duration>,
    /// A request went out and no answer came: the other side may have acted.
    pub unknown_outcome: bool,
}

impl HandlerError {
    /// A failure that may pass by itself. `source` is a text or any error; its causes become part of the message.
    pub fn transient(
        code: impl Into<Cow<'static, str>>,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self::new(ErrorClass::Transient, code, source)
    }

    /// A failure that would come again in the same way. `source` is a text or any error.
    pub fn deterministic(
        code: impl Into<Cow<'static, str>>,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self::new(ErrorClass::Deterministic, code, source)
    }

    /// A failure of a class that was decided elsewhere.
    pub fn new(
        class: ErrorClass,
        code: impl Into<Cow<'static, str>>,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        let code = code.into();
        let code = match code.get(code.floor_char_boundary(CODE_BYTES)..) {
            Some("") | None => code,
            Some(_) => code[..code.floor_char_boundary(CODE_BYTES)].to_owned().into(),
        };
        let message = domain::clip_error(&chain(source.into().as_ref()));
        Self {
            class,
            code,
            message,
            retry_after: None,
            unknown_outcome: false,
        }
    }

    /// The error of a library that has no error type of its own, such as `anyhow`: transient, `handler_error`.
    pub fn from_boxed(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::transient("handler_error", source)
    }

    /// The run was ended early, as its stop signal asked. The executor knows why, and decides what follows.
    #[must_use]
    pub fn stopped(reason: StopReason) -> Self {
        let (class, code, message) = match reason {
            StopReason::Cancelled => (ErrorClass::Transient, "cancelled", "the task was cancelled"),
            StopReason::Reset => (ErrorClass::Transient, "reset", "the task was reset"),
            StopReason::TimedOut => (
                ErrorClass::Timeout,
                "run_timeout",
                "the run took longer than run_timeout",
            ),
            StopReason::LeaseLost => (ErrorClass::Lost, "lease_lost", "the lease was lost"),
            StopReason::ShuttingDown => (ErrorClass::Transient, "shutting_down", "the executor stops"),
        };
        Self::new(class, code, message)
    }

    /// The same failure, with what was attempted in front of the message.
    #[must_use]
    pub fn context(mut self, attempted: impl fmt::Display) -> Self {
        self.message = domain::clip_error(&format!("{attempted}: {}", self.message));
        self
    }

    /// The same failure, not to be tried again before `wait` has passed.
    #[must_use]
    pub const fn with_retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// The same failure, of which nobody knows whether the other side acted.
    #[must_use]
    pub const fn with_unknown_outcome(mut self) -> Self {
        self.unknown_outcome = true;
        self
    }
}

/// The message and those of its causes, `what: why: why`; a cause that the text already ends with is not repeated.
fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        if !text.ends_with(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        next = cause.source();
    }
    text
}

impl fmt::Display for HandlerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for HandlerError {
    fn from(error: E) -> Self {
        Self::from_boxed(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("reading the room failed")]
    struct Outer(#[source] std::io::Error);

    #[test]
    fn any_error_is_transient_and_keeps_its_causes() {
        fn fails() -> Result<(), HandlerError> {
            Err(Outer(std::io::Error::other("disk on fire")))?;
            Ok(())
        }
        let error = fails().unwrap_err();
        assert_eq!(
            (error.class, &*error.code),
            (ErrorClass::Transient, "handler_error")
        );
        assert_eq!(error.to_string(), "reading the room failed: disk on fire");
        assert!(!error.unknown_outcome && error.retry_after.is_none());
    }

    #[test]
    fn message_and_code_are_bounded() {
        let error = HandlerError::deterministic("é".repeat(100), "x".repeat(100_000)).context("start");
        assert_eq!(error.code.len(), CODE_BYTES);
        assert!(error.message.starts_with("start: x") && error.message.len() < 9_000);
    }
}
