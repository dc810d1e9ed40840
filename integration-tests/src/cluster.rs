//! A Redis Cluster of three nodes without replicas.

use std::time::Duration;

use crate::error::{Error, Result};
use crate::output::Output;
use crate::port::Port;
use crate::program::find;
use crate::redis::RedisServer;

const SLOTS: u32 = 16_384;
const FORM_LIMIT: Duration = Duration::from_secs(60);

/// Three nodes on free ports that share the slots.
#[derive(Debug)]
pub struct RedisCluster {
    nodes: Vec<RedisServer>,
    /// The ports on which the nodes speak to each other.
    buses: Vec<Port>,
}

impl RedisCluster {
    /// Starts the nodes, makes them meet, and waits until each says that the cluster is whole.
    ///
    /// # Errors
    /// No program, or no whole cluster within 60 s.
    pub fn start_new() -> Result<Self> {
        let program = find("redis-server", "GENGFU_REDIS_SERVER")?;
        let (mut nodes, mut buses) = (Vec::new(), Vec::new());
        for _ in 0..3 {
            let bus = Port::reserve()?;
            let number = bus.number().to_string();
            let options = [
                ("cluster-enabled", "yes"),
                ("cluster-node-timeout", "5000"),
                ("cluster-port", &number),
            ];
            nodes.push(RedisServer::start_program(program.clone(), &options)?);
            buses.push(bus);
        }
        let cluster = Self { nodes, buses };
        cluster.share_slots()?;
        cluster.meet()?;
        cluster.wait_until_whole()?;
        Ok(cluster)
    }

    fn share_slots(&self) -> Result<()> {
        let nodes = u32::try_from(self.nodes.len()).unwrap_or(1);
        for (index, node) in (0..).zip(&self.nodes) {
            let first = (SLOTS * index / nodes).to_string();
            let last = (SLOTS * (index + 1) / nodes - 1).to_string();
            let mut connection = node.connect()?;
            connection.call(&["CLUSTER", "ADDSLOTSRANGE", &first, &last])?;
            // Distinct epochs from the start, as redis-cli gives them, so that no two nodes dispute one.
            connection.call(&["CLUSTER", "SET-CONFIG-EPOCH", &(index + 1).to_string()])?;
        }
        Ok(())
    }

    fn meet(&self) -> Result<()> {
        let Some(first) = self.nodes.first() else {
            return Ok(());
        };
        let mut connection = first.connect()?;
        for (node, bus) in self.nodes.iter().zip(&self.buses).skip(1) {
            let (port, bus) = (node.port().to_string(), bus.number().to_string());
            connection.call(&["CLUSTER", "MEET", "127.0.0.1", &port, &bus])?;
        }
        Ok(())
    }

    /// Waits until every node says `cluster_state:ok`.
    ///
    /// # Errors
    /// A node is down, or does not say so within 60 s.
    pub fn wait_until_whole(&self) -> Result<()> {
        self.nodes.iter().try_for_each(wait_until_ok)
    }

    /// The nodes, to stop and start one of them.
    pub fn nodes(&mut self) -> &mut [RedisServer] {
        &mut self.nodes
    }

    /// The address for clients: `redis+cluster://` and the nodes, with commas between them.
    pub fn url(&self) -> String {
        let nodes: Vec<String> = self
            .nodes
            .iter()
            .map(|node| format!("127.0.0.1:{}", node.port()))
            .collect();
        format!("redis+cluster://{}", nodes.join(","))
    }

    /// The address of each node by itself, `redis://127.0.0.1:PORT`.
    pub fn node_urls(&self) -> Vec<String> {
        self.nodes.iter().map(RedisServer::url).collect()
    }
}

/// Looks, and looks again when the node logs that its view has changed.
fn wait_until_ok(node: &RedisServer) -> Result<()> {
    loop {
        let mark = node.output().map_or(0, Output::mark);
        let state = node.connect()?.call(&["CLUSTER", "INFO"])?.text();
        if state.contains("cluster_state:ok") {
            return Ok(());
        }
        let down = || Error::Refused {
            command: "CLUSTER INFO".to_owned(),
            reply: state,
        };
        node.output()
            .ok_or_else(down)?
            .wait_after(mark, "Cluster state changed: ok", FORM_LIMIT)?;
    }
}
