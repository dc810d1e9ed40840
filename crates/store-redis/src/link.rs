//! The connection to one server, to a cluster, or to the master that sentinels name.

use std::time::Duration;

use redis::aio::{ConnectionLike, ConnectionManager, ConnectionManagerConfig};
use redis::cluster::ClusterClientBuilder;
use redis::cluster_async::ClusterConnection;
use redis::{Cmd, Pipeline, RedisFuture, Value as Answer};
use store::Error;

use crate::address::Address;
use crate::failed::failed;
use crate::sentinel::SentinelLink;

/// Clones share the connection.
#[derive(Clone)]
pub(crate) enum Link {
    One(ConnectionManager),
    Cluster(ClusterConnection),
    Sentinel(SentinelLink),
}

impl ConnectionLike for Link {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Answer> {
        match self {
            Self::One(link) => link.req_packed_command(cmd),
            Self::Cluster(link) => link.req_packed_command(cmd),
            Self::Sentinel(link) => link.req_packed_command(cmd),
        }
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        cmd: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Answer>> {
        match self {
            Self::One(link) => link.req_packed_commands(cmd, offset, count),
            Self::Cluster(link) => link.req_packed_commands(cmd, offset, count),
            Self::Sentinel(link) => link.req_packed_commands(cmd, offset, count),
        }
    }

    fn get_db(&self) -> i64 {
        0
    }
}

impl Link {
    /// Connects; `timeout` is the limit of connecting and of each answer.
    ///
    /// # Errors
    /// [`Error::Unusable`] where the address makes no sense, [`Error::Unavailable`] where nobody answers.
    pub(crate) async fn open(url: &str, timeout: Duration) -> Result<Self, Error> {
        match Address::parse(url)? {
            Address::One(url) => one(&url, timeout).await,
            Address::Cluster(nodes) => cluster(nodes, timeout).await,
            Address::Sentinels(sentinels) => {
                SentinelLink::open(&sentinels, timeout).await.map(Self::Sentinel)
            }
        }
    }
}

async fn one(url: &str, timeout: Duration) -> Result<Link, Error> {
    let client = redis::Client::open(url).map_err(|error| Error::Unusable(format!("redis.url: {error}")))?;
    let config = ConnectionManagerConfig::new()
        .set_number_of_retries(0)
        .set_connection_timeout(Some(timeout))
        .set_response_timeout(Some(timeout));
    ConnectionManager::new_with_config(client, config)
        .await
        .map(Link::One)
        .map_err(failed)
}

async fn cluster(nodes: Vec<String>, timeout: Duration) -> Result<Link, Error> {
    let client = ClusterClientBuilder::new(nodes)
        .connection_timeout(timeout)
        .response_timeout(timeout)
        .build()
        .map_err(|error| Error::Unusable(error.to_string()))?;
    client
        .get_async_connection()
        .await
        .map(Link::Cluster)
        .map_err(failed)
}
