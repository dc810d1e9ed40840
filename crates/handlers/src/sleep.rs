//! `sleep`: takes its time, for tries and tests. Payload `{"ms": N}`.

use std::time::Duration;

use handler::{HandlerError, TaskContext, TypedHandler, async_trait};
use serde::Deserialize;

pub(crate) struct Sleep;

#[derive(Deserialize)]
pub(crate) struct Nap {
    /// Milliseconds to take.
    ms: u32,
}

#[async_trait]
impl TypedHandler for Sleep {
    type Payload = Nap;
    type Output = ();

    async fn run(&self, ctx: &TaskContext, nap: Nap) -> Result<(), HandlerError> {
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(nap.ms.into())) => Ok(()),
            reason = ctx.stop().requested() => Err(HandlerError::stopped(reason)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::ErrorClass;
    use handler::{Bytes, StopReason, Stopper, TaskHandler, typed};
    use tokio::time::Instant;

    #[tokio::test(start_paused = true)]
    async fn it_takes_the_time_that_it_was_given() {
        let before = Instant::now();
        let ctx = TaskContext::for_test("sleep");
        typed(Sleep)
            .run(&ctx, Bytes::from(r#"{"ms": 700}"#))
            .await
            .unwrap();
        assert_eq!(before.elapsed(), Duration::from_millis(700));
    }

    #[tokio::test(start_paused = true)]
    async fn a_stop_ends_it_early_and_a_bad_payload_never_starts() {
        let before = Instant::now();
        let (stopper, signal) = Stopper::new();
        let ctx = TaskContext::builder(TaskContext::for_test("sleep").task_id(), "sleep")
            .stop(signal)
            .build();
        stopper.stop(StopReason::TimedOut);
        let error = typed(Sleep)
            .run(&ctx, Bytes::from(r#"{"ms": 60000}"#))
            .await
            .unwrap_err();
        assert_eq!((error.class, &*error.code), (ErrorClass::Timeout, "run_timeout"));
        let error = typed(Sleep)
            .run(&ctx, Bytes::from(r#"{"ms": -1}"#))
            .await
            .unwrap_err();
        assert_eq!(error.code, "invalid_input");
        assert_eq!(before.elapsed(), Duration::ZERO);
    }
}
