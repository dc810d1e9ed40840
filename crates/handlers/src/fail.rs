//! `fail`: fails as it is asked to, for tries and tests. Payload `{"class": C, "times": N, "block_ms": N}`.

use std::time::Duration;

use handler::{HandlerError, TaskContext, TypedHandler, async_trait};
use serde::Deserialize;

/// Longest time that a thread can be blocked.
const BLOCK_MAX_MS: u64 = 600_000;

pub(crate) struct Fail;

/// How to fail.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Way {
    Transient,
    Deterministic,
    /// Runs until it is stopped.
    Timeout,
    Panic,
}

#[derive(Deserialize)]
pub(crate) struct Asked {
    class: Way,
    /// Attempts 1 to this one fail, later ones succeed; all fail if not said.
    times: Option<u32>,
    /// First blocks the runtime's thread for so many milliseconds, as bad code does.
    #[serde(default)]
    block_ms: u64,
}

#[async_trait]
impl TypedHandler for Fail {
    type Payload = Asked;
    type Output = ();

    async fn run(&self, ctx: &TaskContext, asked: Asked) -> Result<(), HandlerError> {
        block(asked.block_ms.min(BLOCK_MAX_MS));
        if asked.times.is_some_and(|times| ctx.attempt() > times) {
            return Ok(());
        }
        let message = format!("attempt {} fails as it was asked to", ctx.attempt());
        match asked.class {
            Way::Transient => Err(HandlerError::transient("asked_to_fail", message)),
            Way::Deterministic => Err(HandlerError::deterministic("asked_to_fail", message)),
            Way::Timeout => Err(HandlerError::stopped(ctx.stop().requested().await)),
            Way::Panic => panic!("{message}"),
        }
    }
}

fn block(ms: u64) {
    if ms > 0 {
        #[expect(
            clippy::disallowed_methods,
            reason = "shows what a handler that blocks its thread does"
        )]
        std::thread::sleep(Duration::from_millis(ms));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::ErrorClass;
    use handler::{Bytes, StopReason, Stopper, TaskHandler, typed};

    async fn attempt(number: u32, payload: &'static str) -> Result<Bytes, HandlerError> {
        let (stopper, signal) = Stopper::new();
        stopper.stop(StopReason::TimedOut);
        let id = TaskContext::for_test("fail").task_id();
        let ctx = TaskContext::builder(id, "fail")
            .attempt(number)
            .stop(signal)
            .build();
        typed(Fail).run(&ctx, Bytes::from(payload)).await
    }

    #[tokio::test]
    async fn it_fails_so_many_times_and_then_succeeds() {
        let payload = r#"{"class": "transient", "times": 2}"#;
        for number in [1, 2] {
            assert_eq!(
                attempt(number, payload).await.unwrap_err().class,
                ErrorClass::Transient
            );
        }
        assert!(attempt(3, payload).await.is_ok());
        let always = r#"{"class": "deterministic"}"#;
        assert_eq!(
            attempt(99, always).await.unwrap_err().class,
            ErrorClass::Deterministic
        );
        assert_eq!(
            attempt(1, r#"{"class": "timeout"}"#).await.unwrap_err().class,
            ErrorClass::Timeout
        );
        assert_eq!(
            attempt(1, r#"{"class": "lost"}"#).await.unwrap_err().code,
            "invalid_input"
        );
    }

    #[tokio::test]
    async fn it_panics_when_asked() {
        let panicked = tokio::spawn(attempt(1, r#"{"class": "panic"}"#))
            .await
            .unwrap_err();
        assert!(panicked.is_panic());
    }

    #[tokio::test]
    async fn it_blocks_its_thread() {
        let before = std::time::Instant::now();
        attempt(1, r#"{"class": "transient", "times": 0, "block_ms": 30}"#)
            .await
            .unwrap();
        assert!(before.elapsed() >= Duration::from_millis(30));
    }
}
