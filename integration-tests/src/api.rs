//! A small HTTP client for the API of the town.

use std::time::Duration;

use reqwest::{Method, StatusCode};
use serde_json::Value;

use crate::error::{Error, Result};

const LIMIT: Duration = Duration::from_secs(30);

/// Calls one server; every call ends within 30 s.
#[derive(Debug, Clone)]
pub struct Api {
    base: String,
    client: reqwest::Client,
}

/// A whole answer.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The HTTP status.
    pub status: StatusCode,
    /// The media type that it names, if any.
    pub kind: Option<String>,
    /// The body's bytes.
    pub body: Vec<u8>,
}

impl Answer {
    /// The body as JSON; null if it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Api {
    /// A client of the server at `base`, for example `http://127.0.0.1:7420`.
    ///
    /// # Panics
    /// If the HTTP client cannot be built, which no test can mend.
    pub fn new(base: &str) -> Self {
        // Whichever comes first installs it; a second time is no matter.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .connect_timeout(LIMIT)
            .timeout(LIMIT)
            .no_proxy()
            .build();
        Self {
            base: base.trim_end_matches('/').to_owned(),
            client: client.expect("an HTTP client"),
        }
    }

    /// The server's address.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// GET of a path such as `/api/v1/tasks?limit=10`.
    pub async fn get(&self, path: &str) -> Result<Answer> {
        self.send(Method::GET, path, None).await
    }

    /// POST of a JSON body.
    pub async fn post(&self, path: &str, body: &Value) -> Result<Answer> {
        self.send(Method::POST, path, Some(body.to_string().into_bytes()))
            .await
    }

    /// POST of these very bytes, with the type `application/json` all the same.
    pub async fn post_bytes(&self, path: &str, body: &[u8]) -> Result<Answer> {
        self.send(Method::POST, path, Some(body.to_vec())).await
    }

    /// PATCH of a JSON body.
    pub async fn patch(&self, path: &str, body: &Value) -> Result<Answer> {
        self.send(Method::PATCH, path, Some(body.to_string().into_bytes()))
            .await
    }

    /// DELETE of a path.
    pub async fn delete(&self, path: &str) -> Result<Answer> {
        self.send(Method::DELETE, path, None).await
    }

    /// Whether `/readyz` answers 200.
    pub async fn is_ready(&self) -> bool {
        self.get("/readyz")
            .await
            .is_ok_and(|answer| answer.status == StatusCode::OK)
    }

    /// Every item of a list, page by page; `path` may have filters, but no cursor.
    ///
    /// # Errors
    /// A call without an answer, or an answer that is no page.
    pub async fn list(&self, path: &str) -> Result<Vec<Value>> {
        let glue = if path.contains('?') { '&' } else { '?' };
        let mut items = Vec::new();
        let mut page = path.to_owned();
        loop {
            let answer = self.get(&page).await?;
            let mut body = answer.json();
            let Some(Value::Array(more)) = body.get_mut("items").map(Value::take) else {
                return Err(Error::Refused {
                    command: format!("GET {page}"),
                    reply: answer.text(),
                });
            };
            items.extend(more);
            match body.get("next").and_then(Value::as_str) {
                Some(cursor) => page = format!("{path}{glue}cursor={cursor}"),
                None => return Ok(items),
            }
        }
    }

    async fn send(&self, method: Method, path: &str, body: Option<Vec<u8>>) -> Result<Answer> {
        let url = format!("{}{path}", self.base);
        let failed = |source| Error::Http {
            call: format!("{method} {url}"),
            source,
        };
        let mut request = self.client.request(method.clone(), &url);
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body);
        }
        let response = request.send().await.map_err(failed)?;
        let status = response.status();
        let kind = response.headers().get("content-type");
        let kind = kind.and_then(|kind| kind.to_str().ok()).map(str::to_owned);
        let body = response.bytes().await.map_err(failed)?.to_vec();
        Ok(Answer { status, kind, body })
    }
}
