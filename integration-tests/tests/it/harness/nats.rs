//! NATS: start, restart on the same streams, wipe, pause, drop.

use std::net::TcpListener;

use gengfu_integration_tests::NatsServer;

fn create_stream(server: &NatsServer) {
    let stream = r#"{"name":"rows","subjects":["rows.>"],"storage":"file","retention":"limits"}"#;
    let answer = server
        .request("$JS.API.STREAM.CREATE.rows", stream.as_bytes())
        .unwrap();
    assert!(answer.contains("\"did_create\":true"), "{answer}");
    let stored = server.request("rows.1", b"payload").unwrap();
    assert!(stored.contains("\"seq\":1"), "{stored}");
}

fn stream(server: &NatsServer) -> String {
    server.request("$JS.API.STREAM.INFO.rows", b"").unwrap()
}

#[test]
fn streams_survive_a_restart_on_the_same_port() {
    let mut server = NatsServer::start_new().unwrap();
    create_stream(&server);
    let port = server.port();
    server.stop().unwrap();
    assert!(server.request("rows.2", b"").is_err(), "a stopped server answers");
    server.start().unwrap();
    assert_eq!(server.port(), port);
    assert!(stream(&server).contains("\"messages\":1"), "{}", stream(&server));
}

#[test]
fn wiped_streams_are_gone_after_a_kill_and_restart() {
    let mut server = NatsServer::start_new().unwrap();
    create_stream(&server);
    server.wipe_data().unwrap();
    server.kill();
    server.start().unwrap();
    assert!(
        stream(&server).contains("stream not found"),
        "{}",
        stream(&server)
    );
}

#[test]
fn dropping_it_frees_the_port_and_the_folder() {
    let server = NatsServer::start_new().unwrap();
    create_stream(&server);
    let (port, data) = (server.port(), server.data());
    assert!(data.is_dir());
    drop(server);
    assert!(!data.exists());
    TcpListener::bind(("127.0.0.1", port)).unwrap();
}

#[test]
fn many_start_at_once() {
    let servers: Vec<NatsServer> = std::thread::scope(|scope| {
        let starting: Vec<_> = (0..6)
            .map(|_| scope.spawn(|| NatsServer::start_new().unwrap()))
            .collect();
        starting
            .into_iter()
            .map(|server| server.join().unwrap())
            .collect()
    });
    let ports: std::collections::BTreeSet<u16> = servers.iter().map(NatsServer::port).collect();
    assert_eq!(ports.len(), servers.len());
}
