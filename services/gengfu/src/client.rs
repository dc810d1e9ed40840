//! The client of the API: one request, one answer, and refusals as sentences.

use std::io::Write;
use std::time::Duration;

use anyhow::{Context, anyhow};
use reqwest::{Method, Response};
use serde_json::Value;

/// Longest wait for an answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);
/// Longest wait for a connection.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// What every client command takes.
#[derive(clap::Args)]
pub(crate) struct Global {
    /// Where the gateway is.
    #[arg(
        long,
        global = true,
        env = "GENGFU_SERVER",
        default_value = "http://127.0.0.1:7420"
    )]
    server: String,
    /// The token, where the gateway asks for one.
    #[arg(long, global = true, env = "GENGFU_TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// Prints JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// Talks to one gateway.
#[derive(Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    base: String,
    token: Option<String>,
}

/// A refusal of the gateway, one sentence a line.
fn sentences(status: reqwest::StatusCode, body: &Value) -> String {
    let field = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let detail = field(body, "detail");
    let mut lines = vec![if detail.is_empty() {
        format!("{status}")
    } else {
        detail
    }];
    for problem in body["errors"].as_array().into_iter().flatten() {
        let remedy = field(problem, "remedy");
        let said = format!("{} {}", field(problem, "field"), field(problem, "reason"));
        lines.push(if remedy.is_empty() {
            said
        } else {
            format!("{said}; {remedy}")
        });
    }
    lines.join("\n  ")
}

impl Client {
    pub(crate) fn new(global: &Global) -> anyhow::Result<Self> {
        let http = reqwest::Client::builder()
            .timeout(ANSWER_LIMIT)
            .connect_timeout(CONNECT_LIMIT)
            .build()?;
        let base = format!("{}/api/v1", global.server.trim_end_matches('/'));
        Ok(Self {
            http,
            base,
            token: global.token.clone(),
        })
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        query: &[(&str, String)],
        body: Option<Vec<u8>>,
    ) -> anyhow::Result<Response> {
        let pairs: Vec<_> = query
            .iter()
            .map(|(key, value)| format!("{key}={}", escape(value)))
            .collect();
        let mark = if pairs.is_empty() { "" } else { "?" };
        let mut request = self
            .http
            .request(method, format!("{}{path}{mark}{}", self.base, pairs.join("&")));
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body);
        }
        let response = request
            .send()
            .await
            .with_context(|| format!("{} can't be reached; is gengfu running there?", self.base))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status();
        let bytes = response.bytes().await.unwrap_or_default();
        Err(anyhow!(sentences(
            status,
            &serde_json::from_slice(&bytes).unwrap_or(Value::Null)
        )))
    }

    pub(crate) async fn get(&self, path: &str, query: &[(&str, String)]) -> anyhow::Result<Value> {
        read(self.send(Method::GET, path, query, None).await?).await
    }

    pub(crate) async fn bytes(&self, path: &str, query: &[(&str, String)]) -> anyhow::Result<Vec<u8>> {
        Ok(self
            .send(Method::GET, path, query, None)
            .await?
            .bytes()
            .await?
            .to_vec())
    }

    pub(crate) async fn post(&self, path: &str, body: Vec<u8>) -> anyhow::Result<Value> {
        read(self.send(Method::POST, path, &[], Some(body)).await?).await
    }

    pub(crate) async fn patch(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        read(
            self.send(Method::PATCH, path, &[], Some(body.to_string().into_bytes()))
                .await?,
        )
        .await
    }
}

async fn read(response: Response) -> anyhow::Result<Value> {
    serde_json::from_slice(&response.bytes().await?).context("the gateway answered no JSON")
}

/// A value of a query, with everything but plain characters escaped.
fn escape(value: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    value
        .bytes()
        .map(|byte| {
            if plain(byte) {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}

/// Writes to standard output; a reader that went away is no fault.
pub(crate) fn out(bytes: &[u8]) {
    let mut out = std::io::stdout();
    let _ = out.write_all(bytes).and_then(|()| out.flush());
}

/// Writes a line to standard output.
pub(crate) fn line(text: &str) {
    out(format!("{text}\n").as_bytes());
}
