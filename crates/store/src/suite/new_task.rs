//! Submissions as the cases need them: plain, unless a case says otherwise.

use bytes::Bytes;
use domain::{TaskId, Tier};

use crate::NewTask;

/// The type of a plain task.
pub(super) const TYPE: &str = "a.b";
/// Another type in the same pool.
pub(super) const OTHER: &str = "b.c";
/// The pool of every task.
pub(super) const POOL: &str = "main";

/// A plain submission: due now, three retries, three losses, no key.
#[must_use]
pub fn plain(id: TaskId) -> NewTask {
    NewTask {
        id,
        task_type: TYPE.into(),
        pool: POOL.into(),
        tier: Tier::Normal,
        payload: Bytes::from_static(b"{\"n\":1}"),
        payload_sha256: [7; 32],
        idempotency_key: String::new(),
        key_window_ms: 0,
        delay_ms: 0,
        at: 0,
        expire_after_ms: 0,
        max_retry: 3,
        max_lost: 3,
        run_timeout_ms: 60_000,
        schedule_id: String::new(),
        planned_at: 0,
        batch_id: None,
        batch_row: 0,
        parent_id: None,
        sampled: false,
        trace_link: String::new(),
        rejected: None,
        direct: false,
    }
}
