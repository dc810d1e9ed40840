//! Real processes: where they write their numbers, and whether they are still there.

use std::{future::Future, path::Path, time::Duration};

/// Waits until `look` finds something; fails after 20 s.
pub(crate) async fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let mut tick = tokio::time::interval(Duration::from_millis(5));
    within(what, async {
        loop {
            tick.tick().await;
            if let Some(found) = look() {
                return found;
            }
        }
    })
    .await
}

/// Waits for this; fails after 20 s.
pub(crate) async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    let limit = Duration::from_secs(20);
    tokio::time::timeout(limit, future)
        .await
        .unwrap_or_else(|_| panic!("{what} did not happen in {limit:?}"))
}

/// The number that a process wrote into this file, with its line feed, once it has.
pub(crate) async fn number(file: &Path) -> i32 {
    let read = || {
        std::fs::read_to_string(file)
            .ok()?
            .strip_suffix('\n')?
            .parse()
            .ok()
    };
    eventually(&format!("a number in {}", file.display()), read).await
}

/// Whether this process runs; one that is dead but not yet reaped does not.
pub(crate) fn runs(pid: i32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else {
        return false;
    };
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    !matches!(state, Some('Z' | 'X'))
}

/// Waits until this process is gone.
pub(crate) async fn gone(pid: i32) {
    eventually(&format!("the end of process {pid}"), || {
        (!runs(pid)).then_some(())
    })
    .await;
}
