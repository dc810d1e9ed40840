//! The end of an executor: what can finish finishes, the rest is handed back without spending an attempt.

use std::time::Duration;

use handler::StopReason;

use crate::Executor;

/// How long handing back may take once the grace is over.
const HAND_BACK_LIMIT: Duration = Duration::from_secs(10);

pub(crate) async fn drain(executor: &Executor) {
    if tokio::time::timeout(executor.config.drain_grace, executor.runs.empty())
        .await
        .is_ok()
    {
        return;
    }
    executor.runs.stop_all(StopReason::ShuttingDown);
    if tokio::time::timeout(HAND_BACK_LIMIT, executor.runs.empty())
        .await
        .is_err()
    {
        tracing::warn!("runs did not end; their leases will");
    }
}
