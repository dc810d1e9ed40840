//! The three-node cluster is whole, and is whole again after a node came back.

use gengfu_integration_tests::{RedisCluster, RedisServer, Resp};

fn connections(cluster: &mut RedisCluster) -> Vec<Resp> {
    cluster
        .nodes()
        .iter()
        .map(|node| node.connect().unwrap())
        .collect()
}

#[test]
fn every_slot_has_a_node_also_after_one_was_killed_and_started() {
    let mut cluster = RedisCluster::start_new().unwrap();
    assert_eq!(cluster.node_urls().len(), 3);
    for mut node in connections(&mut cluster) {
        let info = node.call(&["CLUSTER", "INFO"]).unwrap().text();
        assert!(info.contains("cluster_slots_assigned:16384"), "{info}");
        assert!(info.contains("cluster_known_nodes:3"), "{info}");
    }

    // Each node takes only its own slots: three keys with tags that lie in the three thirds.
    let tags = ["{b}", "{c}", "{a}"];
    for tag in tags {
        let taken = connections(&mut cluster)
            .iter_mut()
            .filter_map(|node| node.call(&["SET", tag, "1"]).ok())
            .count();
        assert_eq!(taken, 1, "{tag}");
    }

    let node: &mut RedisServer = &mut cluster.nodes()[0];
    node.kill();
    node.start().unwrap();
    cluster.wait_until_whole().unwrap();
}
