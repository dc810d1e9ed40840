//! The client of the API: one request, one answer, and refusals as sentences.

use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use reqwest::{Method, RequestBuilder, Response};
use serde_json::Value;

/// Longest wait for an answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);
/// Longest wait for a connection.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// Longest silence within an answer that comes in pieces.
const SILENCE_LIMIT: Duration = Duration::from_secs(60);
/// Most bytes of one line of an answer.
const LINE_BYTES: usize = 16 << 20;
/// How long a command that waits goes on where the gateway is away.
const AWAY_LIMIT: Duration = Duration::from_secs(120);

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

impl Global {
    /// What names only the gateway.
    pub(crate) fn at(server: &str) -> Self {
        Self {
            server: server.into(),
            token: None,
            json: false,
        }
    }
}

/// Talks to one gateway.
#[derive(Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    base: String,
    token: Option<String>,
}

/// Why there is no answer to work with.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The gateway refused: its status, and its problems as sentences.
    Refused(reqwest::StatusCode, String),
    /// The gateway was not reached, or did not answer in time.
    Away(String),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused(_, said) | Self::Away(said) => f.write_str(said),
        }
    }
}

impl std::error::Error for Failure {}

/// Whether the same request may succeed later.
pub(crate) fn is_passing(error: &anyhow::Error) -> bool {
    match error.downcast_ref::<Failure>() {
        Some(Failure::Away(_)) => true,
        Some(Failure::Refused(status, _)) => status.is_server_error() || status.as_u16() == 429,
        None => false,
    }
}

/// A refusal of the gateway: one line for each problem, else what it says of the whole.
fn sentences(status: reqwest::StatusCode, body: &Value) -> String {
    let field = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let mut lines = Vec::new();
    for problem in body["errors"].as_array().into_iter().flatten() {
        let remedy = field(problem, "remedy");
        let said = format!("{}: {}", field(problem, "field"), field(problem, "reason"));
        lines.push(if remedy.is_empty() {
            said
        } else {
            format!("{said}; {remedy}")
        });
    }
    let detail = field(body, "detail");
    match (lines.is_empty(), detail.is_empty()) {
        (false, _) => lines.join("\n  "),
        (true, false) => detail,
        (true, true) => format!("the gateway answered {status}"),
    }
}

impl Client {
    pub(crate) fn new(global: &Global) -> anyhow::Result<Self> {
        let http = reqwest::Client::builder()
            .connect_timeout(CONNECT_LIMIT)
            .read_timeout(SILENCE_LIMIT)
            .build()?;
        let base = format!("{}/api/v1", global.server.trim_end_matches('/'));
        Ok(Self {
            http,
            base,
            token: global.token.clone(),
        })
    }

    fn request(&self, method: Method, path: &str, query: &[(&str, String)]) -> RequestBuilder {
        let pairs: Vec<_> = query
            .iter()
            .map(|(key, value)| format!("{key}={}", escape(value)))
            .collect();
        let mark = if pairs.is_empty() { "" } else { "?" };
        let request = self
            .http
            .request(method, format!("{}{path}{mark}{}", self.base, pairs.join("&")));
        let request = request.header("gengfu-actor", actor());
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    async fn send(&self, request: RequestBuilder) -> anyhow::Result<Response> {
        let away = |error: reqwest::Error| {
            let base = &self.base;
            match error.is_builder() {
                true => anyhow!("--server {base} is no address; write http://127.0.0.1:7420"),
                false => Failure::Away(format!("{base} can't be reached; is gengfu running there?")).into(),
            }
        };
        let response = request.send().await.map_err(away)?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status();
        let bytes = response.bytes().await.unwrap_or_default();
        let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        Err(Failure::Refused(status, sentences(status, &body)).into())
    }

    pub(crate) async fn get(&self, path: &str, query: &[(&str, String)]) -> anyhow::Result<Value> {
        read(
            self.send(self.request(Method::GET, path, query).timeout(ANSWER_LIMIT))
                .await?,
        )
        .await
    }

    /// As [`Client::get`], but patient while the gateway is away.
    pub(crate) async fn get_patiently(&self, path: &str) -> anyhow::Result<Value> {
        let mut away_since = None;
        loop {
            match self.get(path, &[]).await {
                Err(error) if is_passing(&error) => {
                    let since = *away_since.get_or_insert_with(Instant::now);
                    if since.elapsed() > AWAY_LIMIT {
                        return Err(error);
                    }
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
                answer => return answer,
            }
        }
    }

    /// Writes the bytes of an answer of any length to standard output as they come.
    pub(crate) async fn copy(&self, path: &str, query: &[(&str, String)]) -> anyhow::Result<()> {
        let mut response = self.send(self.request(Method::GET, path, query)).await?;
        while let Some(bytes) = response.chunk().await.context("the answer broke off")? {
            out(&bytes)?;
        }
        Ok(())
    }

    /// Reads an answer of JSON Lines of any length, line by line.
    pub(crate) async fn lines(
        &self,
        path: &str,
        query: &[(&str, String)],
        mut each: impl FnMut(Value) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut response = self.send(self.request(Method::GET, path, query)).await?;
        let mut kept = Vec::new();
        while let Some(bytes) = response.chunk().await.context("the answer broke off")? {
            kept.extend_from_slice(&bytes);
            while let Some(end) = kept.iter().position(|byte| *byte == b'\n') {
                let line: Vec<_> = kept.drain(..=end).collect();
                each(serde_json::from_slice(&line).context("the gateway answered no JSON")?)?;
            }
            anyhow::ensure!(kept.len() <= LINE_BYTES, "a line of the answer is too long");
        }
        Ok(())
    }

    pub(crate) async fn post(&self, path: &str, body: Vec<u8>) -> anyhow::Result<Value> {
        let request = self
            .request(Method::POST, path, &[])
            .header("content-type", "application/json");
        read(self.send(request.timeout(ANSWER_LIMIT).body(body)).await?).await
    }

    pub(crate) async fn delete(&self, path: &str) -> anyhow::Result<Value> {
        read(
            self.send(self.request(Method::DELETE, path, &[]).timeout(ANSWER_LIMIT))
                .await?,
        )
        .await
    }

    pub(crate) async fn patch(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        let request = self
            .request(Method::PATCH, path, &[])
            .header("content-type", "application/json");
        read(
            self.send(request.timeout(ANSWER_LIMIT).body(body.to_string()))
                .await?,
        )
        .await
    }
}

/// Who acts, for the timelines: the user of this machine.
fn actor() -> String {
    let user = std::env::var("USER").unwrap_or_default();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '@');
    let user: String = user.chars().filter(|c| plain(*c)).take(60).collect();
    if user.is_empty() {
        "cli".into()
    } else {
        format!("cli:{user}")
    }
}

async fn read(response: Response) -> anyhow::Result<Value> {
    let bytes = response
        .bytes()
        .await
        .map_err(|error| Failure::Away(format!("the answer broke off: {error}")))?;
    serde_json::from_slice(&bytes).context("the gateway answered no JSON")
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

/// Writes to standard output.
///
/// # Errors
/// What could not be written, also where the reader went away: nobody shall take a part for the whole.
pub(crate) fn out(bytes: &[u8]) -> anyhow::Result<()> {
    let mut out = std::io::stdout();
    out.write_all(bytes)
        .and_then(|()| out.flush())
        .context("standard output can't be written")
}

/// Writes a line to standard output.
pub(crate) fn line(text: &str) -> anyhow::Result<()> {
    out(format!("{text}\n").as_bytes())
}

/// Writes a line to standard error; where that is closed nobody wants it.
pub(crate) fn note(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_refusal_is_told_problem_by_problem() {
        let status = reqwest::StatusCode::UNPROCESSABLE_ENTITY;
        let body = json!({"detail": "d", "errors": [{"field": "tier", "reason": "is no tier", "remedy": "give low"}]});
        assert_eq!(sentences(status, &body), "tier: is no tier; give low");
        assert_eq!(sentences(status, &json!({"detail": "d"})), "d");
        assert!(sentences(status, &Value::Null).contains("422"));
    }

    #[test]
    fn only_what_may_pass_is_tried_again() {
        let refused = |code| {
            anyhow::Error::from(Failure::Refused(
                reqwest::StatusCode::from_u16(code).unwrap(),
                String::new(),
            ))
        };
        assert!(is_passing(&refused(503)) && is_passing(&Failure::Away(String::new()).into()));
        assert!(!is_passing(&refused(422)) && !is_passing(&anyhow!("x")));
        assert!(is_passing(&refused(503).context("a row")));
    }

    #[test]
    fn values_of_a_query_are_escaped() {
        assert_eq!(
            escape("2026-01-01T00:00:00+08:00&夜"),
            "2026-01-01T00%3A00%3A00%2B08%3A00%26%E5%A4%9C"
        );
    }
}
