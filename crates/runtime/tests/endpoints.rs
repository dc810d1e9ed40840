//! The endpoints of a role, asked over real connections, and what the log says meanwhile.

use std::{
    io::Write,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use anyhow::{Context, Result};
use gengfu_runtime::{Health, Serving, serve, serve_health};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::Notify,
};

/// Status and body of one request.
async fn get(address: SocketAddr, path: &str) -> Result<(u16, String)> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let (head, body) = answer.split_once("\r\n\r\n").context("no body")?;
    let status = head.split(' ').nth(1).context("no status")?.parse()?;
    Ok((status, body.to_owned()))
}

async fn serving(health: &Health) -> Result<Serving> {
    Ok(serve_health("127.0.0.1:0", health.clone(), || "gengfu_up 1\n".to_owned()).await?)
}

#[tokio::test]
async fn readyz_says_why_not() -> Result<()> {
    let health = Health::new();
    let redis = health.dependency("redis");
    let server = serving(&health).await?;
    let (status, body) = get(server.address(), "/readyz").await?;
    assert_eq!(status, 503);
    assert!(body.contains("starting"), "{body}");
    redis.not_ready("connection refused");
    let (status, body) = get(server.address(), "/readyz").await?;
    let told: serde_json::Value = serde_json::from_str(&body)?;
    assert_eq!(status, 503);
    assert_eq!(told["not_ready"][0]["name"], "redis");
    assert_eq!(told["not_ready"][0]["reason"], "connection refused");
    redis.ready();
    assert_eq!(
        get(server.address(), "/readyz").await?,
        (200, r#"{"ready":true,"not_ready":[]}"#.into())
    );
    health.stopping();
    assert_eq!(get(server.address(), "/readyz").await?.0, 503);
    assert_eq!(get(server.address(), "/livez").await?.0, 200);
    assert_eq!(
        get(server.address(), "/metrics").await?,
        (200, "gengfu_up 1\n".into())
    );
    Ok(())
}

#[tokio::test]
async fn a_taken_address_is_an_error_that_names_it() -> Result<()> {
    let first = serving(&Health::new()).await?;
    let taken = first.address().to_string();
    let refused = serve(&taken, axum::Router::new()).await.map(drop);
    assert!(refused.is_err_and(|error| error.to_string().contains(&taken)));
    Ok(())
}

#[tokio::test]
async fn a_server_that_stops_finishes_its_answers() -> Result<()> {
    let (asked, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (telling, waiting) = (Arc::clone(&asked), Arc::clone(&go));
    let slow = axum::routing::get(|| async move {
        telling.notify_one();
        waiting.notified().await;
        "slow"
    });
    let server = serve("127.0.0.1:0", axum::Router::new().route("/slow", slow)).await?;
    let address = server.address();
    let answer = tokio::spawn(async move { get(address, "/slow").await });
    asked.notified().await;
    let stopping = tokio::spawn(server.stop(Duration::from_secs(60)));
    go.notify_one();
    assert_eq!(answer.await??, (200, "slow".into()));
    stopping.await?;
    Ok(())
}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if let Ok(mut lines) = self.0.lock() {
            lines.extend_from_slice(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn each_change_is_one_line() -> Result<()> {
    let lines = Lines::default();
    let sink = lines.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(move || sink.clone())
        .with_ansi(false)
        .finish();
    tracing::subscriber::with_default(subscriber, || {
        let redis = Health::new().dependency("redis");
        for _ in 0..100 {
            redis.not_ready("refused");
            redis.not_ready("no answer in time");
        }
        (0..100).for_each(|_| redis.ready());
        (0..100).for_each(|_| redis.not_ready("refused"));
    });
    let text = String::from_utf8(lines.0.lock().map_err(|_| anyhow::anyhow!("poisoned"))?.clone())?;
    let told: Vec<bool> = text.lines().map(|line| line.contains("not ready")).collect();
    assert_eq!(told, [true, false, true], "{text}");
    Ok(())
}
