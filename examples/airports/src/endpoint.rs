//! The third party that the tasks call: it fails in known ways and writes down every call.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::fate::Fate;
use crate::ledger::{Call, Ledger};

/// Well past the `timeout` of types.yaml.
const HANG: Duration = Duration::from_secs(10);

/// A running endpoint. Dropping it closes it.
#[derive(Debug)]
pub(crate) struct Endpoint {
    address: SocketAddr,
    ledger: Ledger,
    server: JoinHandle<std::io::Result<()>>,
}

impl Endpoint {
    /// Serves on `wanted`, or on a free port where that one is taken.
    pub(crate) async fn start(wanted: SocketAddr) -> anyhow::Result<Self> {
        let listener = match TcpListener::bind(wanted).await {
            Ok(listener) => listener,
            Err(_) => TcpListener::bind((wanted.ip(), 0))
                .await
                .context("opening a port for the endpoint")?,
        };
        let address = listener.local_addr().context("asking for the endpoint's port")?;
        let ledger = Ledger::default();
        let router = Router::new()
            .route("/check", post(check))
            .with_state(ledger.clone());
        let server = tokio::spawn(async move { axum::serve(listener, router).await });
        Ok(Self {
            address,
            ledger,
            server,
        })
    }

    /// Where the tasks go.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/check", self.address)
    }

    /// What it saw.
    pub(crate) fn ledger(&self) -> &Ledger {
        &self.ledger
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn check(State(ledger): State<Ledger>, headers: HeaderMap, body: Bytes) -> (StatusCode, String) {
    let Some(call) = read_call(&headers, &body) else {
        ledger.record_malformed();
        return (
            StatusCode::BAD_REQUEST,
            "no Idempotency-Key, Gengfu-Attempt or iata\n".to_owned(),
        );
    };
    let (fate, row) = (call.fate, call.row.clone());
    ledger.record(call);
    match fate {
        Fate::Accept => (StatusCode::OK, format!("{row} checked\n")),
        Fate::Unavailable => (
            StatusCode::SERVICE_UNAVAILABLE,
            "busy, come back later\n".to_owned(),
        ),
        Fate::Refuse => (
            StatusCode::UNPROCESSABLE_ENTITY,
            format!("{row} is not on the map\n"),
        ),
        Fate::Hang => {
            tokio::time::sleep(HANG).await;
            (StatusCode::GATEWAY_TIMEOUT, "too late\n".to_owned())
        }
    }
}

fn read_call(headers: &HeaderMap, body: &[u8]) -> Option<Call> {
    let header = |name: &str| headers.get(name)?.to_str().ok();
    let attempt = header("gengfu-attempt")?.parse().ok()?;
    let payload: serde_json::Value = serde_json::from_slice(body).ok()?;
    let row = payload.get("iata")?.as_str()?.to_owned();
    let fate = Fate::of(&row, attempt);
    Some(Call {
        task_id: header("idempotency-key")?.to_owned(),
        attempt,
        row,
        fate,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{http, rows};

    fn row_with(fate: Fate) -> String {
        let rows = rows::read(rows::FILE.as_ref()).unwrap();
        rows.into_iter().find(|row| Fate::of(row, 1) == fate).unwrap()
    }

    async fn call(endpoint: &Endpoint, row: &str) -> reqwest::Result<StatusCode> {
        let client = http::client(Duration::from_secs(1)).unwrap();
        let response = client
            .post(endpoint.url())
            .header("Idempotency-Key", "task-1")
            .header("Gengfu-Attempt", "1")
            .body(format!(r#"{{"iata":"{row}"}}"#))
            .send()
            .await?;
        Ok(response.status())
    }

    #[tokio::test]
    async fn it_answers_by_fate_and_writes_every_call_down() {
        let endpoint = Endpoint::start(([127, 0, 0, 1], 0).into()).await.unwrap();
        for (fate, expected) in [(Fate::Accept, 200), (Fate::Unavailable, 503), (Fate::Refuse, 422)] {
            let row = row_with(fate);
            assert_eq!(call(&endpoint, &row).await.unwrap().as_u16(), expected);
            let written = Call {
                task_id: "task-1".to_owned(),
                attempt: 1,
                row,
                fate,
            };
            assert_eq!(endpoint.ledger().calls().last(), Some(&written));
        }
        assert!(
            call(&endpoint, &row_with(Fate::Hang))
                .await
                .unwrap_err()
                .is_timeout()
        );
        assert_eq!(endpoint.ledger().calls().len(), 4);
    }

    #[tokio::test]
    async fn a_call_that_names_no_task_is_counted() {
        let endpoint = Endpoint::start(([127, 0, 0, 1], 0).into()).await.unwrap();
        let client = http::client(Duration::from_secs(5)).unwrap();
        let response = client
            .post(endpoint.url())
            .body(r#"{"iata":"00M"}"#)
            .send()
            .await
            .unwrap();
        assert_eq!(response.status(), StatusCode::BAD_REQUEST);
        assert_eq!(endpoint.ledger().unexplained(), 1);
    }

    #[tokio::test]
    async fn a_taken_port_is_replaced_by_a_free_one() {
        let first = Endpoint::start(([127, 0, 0, 1], 0).into()).await.unwrap();
        let second = Endpoint::start(first.address).await.unwrap();
        assert_ne!(first.address.port(), second.address.port());
    }
}
