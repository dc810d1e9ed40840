//! The outbox: events that wait until the stream has them.

use domain::Partition;
use redis::streams::StreamRangeReply;
use store::{Error, OutboxEntry};

use crate::connect::RedisStore;
use crate::events;
use crate::keys::Keys;

impl RedisStore {
    pub(crate) async fn waiting_events(
        &self,
        partition: Partition,
        age_ms: i64,
        limit: usize,
    ) -> Result<Vec<OutboxEntry>, Error> {
        let until = self.clock().await? - age_ms;
        let mut command = redis::cmd("XRANGE");
        command
            .arg(Keys::of(partition).named("o"))
            .arg("-")
            .arg(until.max(0))
            .arg("COUNT")
            .arg(limit);
        let reply: StreamRangeReply = self.ask(&command).await?;
        let mut entries = Vec::with_capacity(reply.ids.len());
        for entry in reply.ids {
            let packed: Vec<u8> = entry.get("e").unwrap_or_default();
            entries.push(OutboxEntry {
                partition,
                id: entry.id,
                events: events::decode(&packed)?,
            });
        }
        Ok(entries)
    }

    pub(crate) async fn forget_events(&self, partition: Partition, ids: &[String]) -> Result<(), Error> {
        if ids.is_empty() {
            return Ok(());
        }
        let mut command = redis::cmd("XDEL");
        command.arg(Keys::of(partition).named("o")).arg(ids);
        self.ask::<i64>(&command).await.map(drop)
    }
}
