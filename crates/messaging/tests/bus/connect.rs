//! Servers that are absent, unfit, or come and go.

use std::time::Duration;

use anyhow::{Context, Result};
use messaging::{Bus, Config, Error, State};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::nats::{Nats, within};

#[tokio::test]
async fn a_server_that_comes_late_is_waited_for() -> Result<()> {
    let mut nats = Nats::start()?;
    nats.kill();
    let bus = Bus::connect(nats.config()).await?;
    assert!(matches!(bus.state(), State::Away));
    assert_eq!(bus.state().reason().as_deref(), Some("NATS is away"));
    assert_eq!(bus.events_created_ms(), None);

    nats.start_again()?;
    within(bus.wait_ready()).await??;
    assert!(bus.is_ready() && bus.events_created_ms().is_some());
    assert_eq!(bus.counts().connects, 1);
    Ok(())
}

#[tokio::test]
async fn a_server_that_goes_is_noticed_and_its_return_too() -> Result<()> {
    let mut nats = Nats::start()?;
    let bus = nats.bus().await?;
    nats.kill();
    within(async {
        while bus.is_ready() {
            bus.changed().await;
        }
    })
    .await?;
    nats.start_again()?;
    within(bus.wait_ready()).await??;
    assert_eq!(bus.counts().connects, 2);
    Ok(())
}

/// A server that takes a connection while it is shut down already: it says who it is, and answers no request.
async fn greet(stream: TcpStream) -> Result<BufReader<TcpStream>> {
    let mut stream = BufReader::new(stream);
    let info =
        r#"INFO {"server_id":"X","version":"2.15.0","max_payload":8388608,"headers":true,"jetstream":true}"#;
    stream.write_all(format!("{info}\r\n").as_bytes()).await?;
    let mut line = String::new();
    while !line.starts_with("PING") {
        line.clear();
        anyhow::ensure!(stream.read_line(&mut line).await? > 0, "closed");
    }
    stream.write_all(b"PONG\r\n").await?;
    // The first check of a stream.
    while !line.contains("$JS.API.") {
        line.clear();
        anyhow::ensure!(stream.read_line(&mut line).await? > 0, "closed");
    }
    Ok(stream)
}

#[tokio::test]
async fn a_server_that_goes_while_the_streams_are_checked_is_away_at_once() -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let config = Config {
        url: format!("nats://{}", listener.local_addr()?),
        // Far longer than this test may take.
        request_timeout: Duration::from_secs(600),
        ..Config::default()
    };
    let bus = Bus::connect(config).await?;
    let (stream, _) = within(listener.accept()).await??;
    let connection = within(greet(stream))
        .await?
        .context("no check of the streams came")?;
    assert!(matches!(bus.state(), State::Preparing(None)), "{:?}", bus.state());
    drop((listener, connection));
    within(async {
        while !matches!(bus.state(), State::Away) {
            bus.changed().await;
        }
    })
    .await
}

#[tokio::test]
async fn a_payload_limit_that_is_too_small_is_a_clear_error() -> Result<()> {
    let nats = Nats::with("max_payload: 65536")?;
    let bus = Bus::connect(nats.config()).await?;
    let error = within(bus.wait_ready()).await?.unwrap_err();
    assert!(
        matches!(*error, Error::MaxPayload { have: 65_536, .. }),
        "{error}"
    );
    assert!(
        bus.state()
            .reason()
            .unwrap()
            .starts_with("max_payload of the NATS server is 65536 bytes")
    );

    let small = Bus::connect(Config {
        message_bytes: 65_536,
        ..nats.config()
    })
    .await?;
    within(small.wait_ready()).await??;
    Ok(())
}

#[tokio::test]
async fn a_server_without_jetstream_is_a_clear_error() -> Result<()> {
    let nats = Nats::with("# without jetstream")?;
    let bus = Bus::connect(nats.config()).await?;
    let error = within(bus.wait_ready()).await?.unwrap_err();
    assert!(matches!(*error, Error::NoJetStream), "{error}");
    Ok(())
}

#[tokio::test]
async fn only_a_bad_url_fails_at_once() {
    let bad = Bus::connect(Config {
        url: "http://127.0.0.1".into(),
        ..Config::default()
    })
    .await;
    assert!(matches!(bad, Err(Error::InvalidUrl(_))));
}
