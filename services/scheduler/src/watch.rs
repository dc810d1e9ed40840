//! Sees whether the store and NATS answer, and says so on `/readyz` and in one log line a change.

use std::{sync::Arc, time::Duration};

use runtime::reconnect;

use crate::Town;

/// How often one that answers is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Limit of a look.
const LIMIT: Duration = Duration::from_secs(3);

/// Watches the store.
pub(crate) async fn redis(town: Arc<Town>) {
    let dependency = town.parts.health.dependency("redis");
    let store = &town.parts.store;
    while reconnect(&dependency, &town.shutdown, LIMIT, || store.ping())
        .await
        .is_some()
    {
        if town
            .shutdown
            .or_stop(tokio::time::sleep(LOOK_EVERY))
            .await
            .is_none()
        {
            return;
        }
    }
}

/// Watches NATS; its connection mends itself.
pub(crate) async fn nats(town: Arc<Town>) {
    let dependency = town.parts.health.dependency("nats");
    let bus = &town.parts.bus;
    let look = || async { bus.state().reason().map_or(Ok(()), Err) };
    while reconnect(&dependency, &town.shutdown, LIMIT, look)
        .await
        .is_some()
    {
        let changed = tokio::time::timeout(LOOK_EVERY, bus.changed());
        if town.shutdown.or_stop(changed).await.is_none() {
            return;
        }
    }
}
