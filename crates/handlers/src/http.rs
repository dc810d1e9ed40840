//! `http`: one request for each attempt. The payload is the body; the body of a 2xx answer is the result.

mod classify;
mod client;
mod resolve;
mod response;
mod sent;

use std::{collections::BTreeMap, time::Duration};

use domain::{ErrorClass, HandlerSpec};
use handler::{Bytes, HandlerError, TaskContext, TaskHandler, async_trait};
use reqwest::{
    Method, Url,
    header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
};

pub use self::client::Client;
use self::sent::SentMark;
use crate::{BuildError, Options, Secrets, reclassify::reclassify, secrets::Text, settings::Section};

const FIELDS: [&str; 4] = ["url", "method", "timeout", "headers"];
/// Headers that say which task calls; a definition can't set them, nor what the connection needs for itself.
const OURS: [&str; 7] = [
    "idempotency-key",
    "gengfu-attempt",
    "traceparent",
    "content-length",
    "transfer-encoding",
    "connection",
    "host",
];
const TIMEOUT_DEFAULT: Duration = Duration::from_secs(30);
const TIMEOUT_MAX: Duration = Duration::from_secs(24 * 3_600);

/// The handler of one type, made from its section `http: {url, method, timeout, headers}`.
#[derive(Debug)]
pub struct Http {
    url: Url,
    method: Method,
    timeout: Duration,
    headers: Vec<(HeaderName, Text)>,
    classes: BTreeMap<u16, ErrorClass>,
    result_bytes: usize,
    secrets: Secrets,
    client: Client,
}

impl Http {
    /// Reads the definition: `method` is POST and `timeout` 30s where they are not said.
    ///
    /// # Errors
    /// Names the field, the reason and the remedy.
    pub fn build(spec: &HandlerSpec, options: &Options) -> Result<Self, BuildError> {
        let section = Section::new("http", &spec.settings, &FIELDS)?;
        Ok(Self {
            url: read_url(&section)?,
            method: read_method(&section)?,
            timeout: section.duration("timeout", TIMEOUT_DEFAULT, TIMEOUT_MAX)?,
            headers: read_headers(&section)?,
            classes: reclassify(&spec.errors, "http")?,
            result_bytes: options.result_bytes,
            secrets: options.secrets.clone(),
            client: options.http.clone(),
        })
    }

    /// Method and URL as they may be shown: without user, password and query, which may hold a secret.
    fn shown(&self) -> String {
        let port = self.url.port().map_or(String::new(), |port| format!(":{port}"));
        let host = self.url.host_str().unwrap_or_default();
        format!(
            "{} {}://{host}{port}{}",
            self.method,
            self.url.scheme(),
            self.url.path()
        )
    }

    fn header_map(&self, ctx: &TaskContext, payload: &[u8]) -> Result<HeaderMap, HandlerError> {
        let mut headers = HeaderMap::new();
        if !payload.is_empty() {
            let json = serde_json::from_slice::<serde::de::IgnoredAny>(payload).is_ok();
            let kind = if json {
                "application/json"
            } else {
                "application/octet-stream"
            };
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        }
        for (name, text) in &self.headers {
            let mut value = header_value(name, &text.resolve(&self.secrets)?)?;
            value.set_sensitive(matches!(text, Text::Secret(_)));
            headers.insert(name.clone(), value);
        }
        for (name, text) in [
            ("idempotency-key", ctx.idempotency_key()),
            ("gengfu-attempt", ctx.attempt().to_string()),
            ("traceparent", ctx.traceparent().to_owned()),
        ] {
            let name = HeaderName::from_static(name);
            headers.insert(name.clone(), header_value(&name, &text)?);
        }
        Ok(headers)
    }

    async fn exchange(
        &self,
        ctx: &TaskContext,
        payload: Bytes,
        sent: &SentMark,
    ) -> Result<Bytes, HandlerError> {
        let request = self
            .client
            .get()?
            .request(self.method.clone(), self.url.clone())
            .timeout(self.timeout)
            .headers(self.header_map(ctx, &payload)?)
            .body(sent.body(payload, ctx.progress()));
        ctx.progress().phase("connect");
        let answer = resolve::telling(ctx.progress(), request.send())
            .await
            .map_err(|error| classify::no_answer(error, sent.is_set()))?;
        ctx.progress().phase("body");
        response::read(answer, &self.classes, self.result_bytes, ctx).await
    }
}

#[async_trait]
impl TaskHandler for Http {
    async fn run(&self, ctx: &TaskContext, payload: Bytes) -> Result<Bytes, HandlerError> {
        let sent = SentMark::default();
        let result = tokio::select! {
            result = self.exchange(ctx, payload, &sent) => result,
            reason = ctx.stop().requested() => {
                let stopped = HandlerError::stopped(reason);
                Err(if sent.is_set() { stopped.with_unknown_outcome() } else { stopped })
            }
        };
        result.map_err(|error| error.context(self.shown()))
    }
}

fn header_value(name: &HeaderName, text: &str) -> Result<HeaderValue, HandlerError> {
    // The text may be a secret, so it is not part of the message.
    HeaderValue::from_str(text).map_err(|_| {
        HandlerError::deterministic(
            "bad_header",
            format!("the value of header {name} has characters that no header may have"),
        )
    })
}

fn read_url(section: &Section<'_>) -> Result<Url, BuildError> {
    let remedy = "write for example https://example.org/notify";
    let text = section.required("url")?;
    let url =
        Url::parse(text).map_err(|error| section.fault("url", format!("is no URL: {error}"), remedy))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
        return Err(section.fault("url", "is not of http or https", remedy));
    }
    Ok(url)
}

fn read_method(section: &Section<'_>) -> Result<Method, BuildError> {
    let Some(text) = section.text("method")? else {
        return Ok(Method::POST);
    };
    Method::from_bytes(text.to_ascii_uppercase().as_bytes()).map_err(|_| {
        section.fault(
            "method",
            format!("is no method: {text:?}"),
            "write for example POST",
        )
    })
}

fn read_headers(section: &Section<'_>) -> Result<Vec<(HeaderName, Text)>, BuildError> {
    let fault =
        |name: &str, reason: &str, remedy: &str| section.fault(&format!("headers.{name}"), reason, remedy);
    let read = |(name, text): (String, Text)| {
        let header = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| fault(&name, "is no name of a header", "use letters, digits and '-'"))?;
        if OURS.contains(&header.as_str()) {
            return Err(fault(&name, "is set by Gengfu for each attempt", "take it out"));
        }
        if let Text::Plain(value) = &text
            && HeaderValue::from_str(value).is_err()
        {
            return Err(fault(
                &name,
                "has characters that no header may have",
                "write printable characters",
            ));
        }
        Ok((header, text))
    };
    section.map("headers")?.into_iter().map(read).collect()
}
