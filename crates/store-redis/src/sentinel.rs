//! The connection to the master that sentinels name: asked for anew when it breaks, or is no master any more.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::sentinel::{SentinelClient, SentinelNodeConnectionInfo, SentinelServerType};
use redis::{
    AsyncConnectionConfig, Cmd, ErrorKind, Pipeline, RedisError, RedisFuture, RedisResult, ServerErrorKind,
    TlsMode, Value as Answer,
};
use store::Error;

use crate::address::Sentinels;
use crate::failed::failed;

/// Clones share the connection.
#[derive(Clone)]
pub(crate) struct SentinelLink(Arc<Shared>);

struct Shared {
    /// One call at a time asks the sentinels; the others wait for its answer.
    sentinels: tokio::sync::Mutex<SentinelClient>,
    /// The master as it was last found, and the how many-th it is.
    master: Mutex<(u64, Option<MultiplexedConnection>)>,
    config: AsyncConnectionConfig,
    timeout: Duration,
}

impl SentinelLink {
    pub(crate) async fn open(sentinels: &Sentinels, timeout: Duration) -> Result<Self, Error> {
        let mut node = SentinelNodeConnectionInfo::default().set_redis_connection_info(sentinels.settings()?);
        if sentinels.tls {
            node = node.set_tls_mode(TlsMode::Secure);
        }
        let client = SentinelClient::build(
            sentinels.nodes.clone(),
            &sentinels.master,
            Some(node),
            SentinelServerType::Master,
        );
        let link = Self(Arc::new(Shared {
            sentinels: tokio::sync::Mutex::new(
                client.map_err(|error| Error::Unusable(format!("redis.url: {error}")))?,
            ),
            master: Mutex::default(),
            config: AsyncConnectionConfig::new()
                .set_connection_timeout(Some(timeout))
                .set_response_timeout(Some(timeout)),
            timeout,
        }));
        link.master().await.map_err(failed)?;
        Ok(link)
    }

    fn known(&self) -> Option<(u64, MultiplexedConnection)> {
        let master = self.0.master.lock().unwrap_or_else(PoisonError::into_inner);
        Some((master.0, master.1.clone()?))
    }

    /// The connection to the master; found anew where there is none.
    async fn master(&self) -> RedisResult<(u64, MultiplexedConnection)> {
        if let Some(known) = self.known() {
            return Ok(known);
        }
        let mut sentinels = self.0.sentinels.lock().await;
        // Another call may have found it while this one waited.
        if let Some(known) = self.known() {
            return Ok(known);
        }
        // The sentinels are asked one after the other; one that is gone must not take the time of all.
        let found = sentinels.get_async_connection_with_config(&self.0.config);
        let found = tokio::time::timeout(self.0.timeout, found)
            .await
            .map_err(|_| RedisError::from((ErrorKind::Io, "the sentinels named no master in time")))??;
        let mut master = self.0.master.lock().unwrap_or_else(PoisonError::into_inner);
        *master = (master.0 + 1, Some(found.clone()));
        Ok((master.0, found))
    }

    /// Forgets a master that failed, unless another was found since.
    fn forget(&self, number: u64) {
        let mut master = self.0.master.lock().unwrap_or_else(PoisonError::into_inner);
        if master.0 == number {
            master.1 = None;
        }
    }

    /// What a call gave; where it says that this is no master to talk to, the next call looks for another.
    fn judge<T>(&self, number: u64, answer: RedisResult<T>) -> RedisResult<T> {
        if let Err(error) = &answer
            && is_no_master(error)
        {
            self.forget(number);
        }
        answer
    }
}

fn is_no_master(error: &RedisError) -> bool {
    let by_word = matches!(
        error.kind(),
        ErrorKind::Server(
            ServerErrorKind::ReadOnly | ServerErrorKind::MasterDown | ServerErrorKind::BusyLoading
        )
    );
    by_word || error.is_io_error() || error.is_timeout() || error.is_connection_dropped()
}

impl ConnectionLike for SentinelLink {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Answer> {
        Box::pin(async move {
            let (number, mut master) = self.master().await?;
            let answer = master.req_packed_command(cmd).await;
            self.judge(number, answer)
        })
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        cmd: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Answer>> {
        Box::pin(async move {
            let (number, mut master) = self.master().await?;
            let answers = master.req_packed_commands(cmd, offset, count).await;
            self.judge(number, answers)
        })
    }

    fn get_db(&self) -> i64 {
        0
    }
}
