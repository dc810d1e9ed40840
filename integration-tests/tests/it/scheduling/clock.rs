//! The clocks: the machine's, and the store's, which alone decides what is due (I11), moved by hours.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use store_redis::{Config, RedisStore};

use crate::town::Town;

/// Seconds since the epoch by this machine's clock.
pub(crate) fn machine_now() -> i64 {
    machine_now_ms() / 1_000
}

/// The same in milliseconds.
pub(crate) fn machine_now_ms() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(now.as_millis()).unwrap()
}

/// Moves the clock of a town's store. Its processes need the feature `test-clock`, as `script/test` builds them.
pub(crate) struct StoreClock(Arc<RedisStore>);

impl StoreClock {
    /// That of this town, which it sets to `second` after the epoch.
    pub(crate) async fn start_at(town: &Town, second: i64) -> Self {
        let config = Config {
            url: town.redis.url(),
            ..Config::default()
        };
        let clock = Self(RedisStore::open(&config).await.unwrap());
        clock.set(second).await;
        clock
    }

    /// It is now so many seconds after the epoch. The clock goes on from there, and never backward.
    pub(crate) async fn set(&self, second: i64) {
        let offset = second * 1_000 - machine_now_ms();
        self.0.set_clock_offset(offset).await.unwrap();
    }
}
