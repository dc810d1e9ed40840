//! Where notices are posted: it takes only what is signed with the secret.

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
    routing::post,
};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::Value;
use sha2::Sha256;
use tokio::sync::mpsc;

use crate::{scheduling::clock::machine_now_ms, town::LIMIT};

const SECRET: &str = "a secret of this test";

/// A notice, and when it came, in milliseconds.
#[derive(Debug)]
pub(crate) struct Notice {
    pub(crate) body: Value,
    pub(crate) came_at: i64,
}

/// The receiver, on a free port; it ends with the test's runtime.
pub(crate) struct Webhook {
    url: String,
    notices: mpsc::UnboundedReceiver<Result<Notice, String>>,
}

impl Webhook {
    pub(crate) async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/notices", listener.local_addr().unwrap());
        let (sender, notices) = mpsc::unbounded_channel();
        let router = Router::new().route("/notices", post(receive)).with_state(sender);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, notices }
    }

    /// The settings, in TOML's writing, of whoever posts here.
    pub(crate) fn settings(&self) -> [(&'static str, String); 2] {
        [
            ("notify.webhook_url", format!("{:?}", self.url)),
            ("notify.webhook_secret", format!("{SECRET:?}")),
        ]
    }

    /// The next notice.
    pub(crate) async fn next(&mut self) -> Notice {
        let next = tokio::time::timeout(LIMIT, self.notices.recv()).await;
        next.expect("no notice came").unwrap().unwrap()
    }

    /// Whether no notice is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.notices.is_empty()
    }
}

async fn receive(
    State(notices): State<mpsc::UnboundedSender<Result<Notice, String>>>,
    headers: HeaderMap,
    body: Bytes,
) -> StatusCode {
    let came_at = machine_now_ms();
    let notice = match is_signed(&headers, &body) {
        true => Ok(Notice {
            body: serde_json::from_slice(&body).unwrap_or_default(),
            came_at,
        }),
        false => Err(format!("not signed with the secret: {headers:?}")),
    };
    let _ = notices.send(notice);
    StatusCode::NO_CONTENT
}

/// Whether the signature is that of timestamp, dot and body, and the timestamp is of now.
fn is_signed(headers: &HeaderMap, body: &[u8]) -> bool {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let (Some(at), Some(signature)) = (header("gengfu-timestamp"), header("gengfu-signature")) else {
        return false;
    };
    let fresh = at
        .parse::<i64>()
        .is_ok_and(|at| (machine_now_ms() / 1_000 - at).abs() < 60);
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    mac.update(format!("{at}.").as_bytes());
    mac.update(body);
    let digest = mac.finalize().into_bytes();
    let expected = digest
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect::<String>();
    fresh && signature == format!("sha256={expected}")
}
