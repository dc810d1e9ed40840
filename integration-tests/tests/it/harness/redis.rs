//! Redis and Valkey: start, restart on the same data, wipe, drop.

use std::net::TcpListener;

use gengfu_integration_tests::{RedisServer, Reply, ValkeyServer, eventually};

fn write(server: &RedisServer) {
    assert_eq!(
        server
            .connect()
            .unwrap()
            .call(&["SET", "row", "1"])
            .unwrap()
            .text(),
        "OK"
    );
}

fn read(server: &RedisServer) -> Reply {
    server.connect().unwrap().call(&["GET", "row"]).unwrap()
}

fn restarts_on_its_data(server: &mut RedisServer) {
    write(server);
    let (port, pid) = (server.port(), server.pid());
    server.stop().unwrap();
    assert!(server.connect().is_err(), "a stopped server answers");
    server.start().unwrap();
    assert_eq!((server.port(), read(server)), (port, Reply::Text(b"1".to_vec())));
    assert_ne!(server.pid(), pid);
}

#[test]
fn redis_restarts_on_its_port_and_data() {
    restarts_on_its_data(&mut RedisServer::start_new().unwrap());
}

#[test]
fn valkey_restarts_on_its_port_and_data() {
    let mut server = ValkeyServer::start_new().unwrap();
    let info = server
        .connect()
        .unwrap()
        .call(&["INFO", "server"])
        .unwrap()
        .text();
    assert!(info.contains("valkey_version:9."), "{info}");
    restarts_on_its_data(&mut server);
}

#[test]
fn a_killed_redis_keeps_what_the_system_already_had() {
    let mut server = RedisServer::start_new().unwrap();
    write(&server);
    server.kill();
    server.start().unwrap();
    assert_eq!(read(&server), Reply::Text(b"1".to_vec()));
}

#[test]
fn wiped_data_are_gone_after_the_restart() {
    let mut server = RedisServer::start_new().unwrap();
    write(&server);
    server.stop().unwrap();
    server.wipe_data().unwrap();
    server.start().unwrap();
    assert_eq!(read(&server), Reply::Null);
}

#[test]
fn it_appends_every_second_and_takes_directives() {
    let server = RedisServer::start_with(&[("maxmemory", "20mb")]).unwrap();
    let mut connection = server.connect().unwrap();
    for (key, value) in [
        ("appendonly", "yes"),
        ("appendfsync", "everysec"),
        ("maxmemory", "20971520"),
    ] {
        let reply = connection.call(&["CONFIG", "GET", key]).unwrap();
        let Reply::List(pair) = reply else {
            panic!("{reply:?}")
        };
        assert_eq!(pair.last().map(Reply::text).as_deref(), Some(value), "{key}");
    }
}

#[test]
fn dropping_it_frees_the_port_and_the_folder() {
    let server = RedisServer::start_new().unwrap();
    let (port, data) = (server.port(), server.data());
    assert!(data.is_dir());
    drop(server);
    assert!(!data.exists());
    TcpListener::bind(("127.0.0.1", port)).unwrap();
}

#[tokio::test]
async fn on_a_full_disk_it_refuses_writes_until_there_is_room() {
    let server = RedisServer::start_new().unwrap();
    let mut connection = server.connect().unwrap();
    let mut write = || connection.call(&["SET", "row", "1"]);
    write().unwrap();
    server.fill_disk().unwrap();
    let refusal = eventually!(write().err().ok_or("it writes"));
    assert!(refusal.to_string().contains("MISCONF"), "{refusal}");
    assert_eq!(read(&server), Reply::Text(b"1".to_vec()));
    server.free_disk().unwrap();
    eventually!(write());
}
