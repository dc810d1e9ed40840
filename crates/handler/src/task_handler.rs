//! The trait of all handlers: bytes in, bytes out.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use crate::{HandlerError, TaskContext};

/// The code that runs the tasks of a type. One value serves all tasks, many at a time.
#[async_trait]
pub trait TaskHandler: Send + Sync + 'static {
    /// Runs one attempt, and returns the task's result.
    ///
    /// The same task may be run again (a retry, or an executor that vanished): side effects belong under
    /// [`TaskContext::idempotency_key`], which stays the same. When the run must end early, [`TaskContext::stop`]
    /// says so; a short time later the future is dropped, so that whatever must not outlive the run (a process, a
    /// file) has to end on drop too. Blocking work belongs on `tokio::task::spawn_blocking`.
    ///
    /// # Errors
    /// What went wrong; its class decides whether there is another attempt. A panic counts as transient.
    async fn run(&self, ctx: &TaskContext, payload: Bytes) -> Result<Bytes, HandlerError>;

    /// How long the run may need to end by itself once its stop signal came; after that its future is dropped.
    fn stop_grace(&self) -> Duration {
        Duration::from_secs(2)
    }

    /// How long the run may need to end where its lease is lost, so that another executor may run the task already:
    /// unless it says otherwise its future is dropped at once. Longer than a twelfth of the lease it never is.
    fn lost_grace(&self) -> Duration {
        Duration::ZERO
    }
}
