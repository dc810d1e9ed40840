//! A submission as it stands in a body. Texts and payloads stay where they are in the body's bytes.

use std::borrow::Cow;

use admission::{Problem, Submission};
use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use domain::{TaskId, duration};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::time::instant;

/// One task to be accepted.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SubmissionBody<'a> {
    #[serde(borrow, default, alias = "type")]
    task_type: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "given")]
    payload: Option<&'a RawValue>,
    #[serde(borrow, default)]
    payload_base64: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(crate) idempotency_key: Cow<'a, str>,
    #[serde(borrow, default)]
    pool: Cow<'a, str>,
    #[serde(borrow, default)]
    tier: Cow<'a, str>,
    #[serde(borrow, default)]
    delay: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    at: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    expire_after: Option<Cow<'a, str>>,
    #[serde(default)]
    max_retry: Option<u32>,
    #[serde(borrow, default)]
    batch_id: Option<Cow<'a, str>>,
    #[serde(default, alias = "row")]
    batch_row: u32,
    #[serde(borrow, default)]
    parent_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    traceparent: Cow<'a, str>,
    #[serde(default)]
    rejected: Option<RejectedRow>,
}

/// Why a row of a file is no task that can run: it is stored dead, as `invalid_input`.
#[derive(Debug, Clone, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RejectedRow {
    /// The line of the record's first line, from 1.
    line: u64,
    /// The column, if it is one's fault.
    column: Option<String>,
    /// Why.
    reason: String,
}

/// What a field that is left out takes from the request around it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Defaults<'a> {
    #[serde(borrow, default, alias = "type")]
    task_type: Cow<'a, str>,
    #[serde(borrow, default)]
    pool: Cow<'a, str>,
    #[serde(borrow, default)]
    tier: Cow<'a, str>,
    #[serde(borrow, default)]
    delay: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    at: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    expire_after: Option<Cow<'a, str>>,
    #[serde(default)]
    max_retry: Option<u32>,
    #[serde(borrow, default)]
    batch_id: Option<Cow<'a, str>>,
}

/// A payload of `null` is given, one that is not there is not.
fn given<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

impl<'a> SubmissionBody<'a> {
    /// Fills in what was left out.
    pub(crate) fn or(mut self, defaults: &Defaults<'a>) -> Self {
        for (own, default) in [
            (&mut self.task_type, &defaults.task_type),
            (&mut self.pool, &defaults.pool),
            (&mut self.tier, &defaults.tier),
        ] {
            if own.is_empty() {
                own.clone_from(default);
            }
        }
        if self.delay.is_none() && self.at.is_none() {
            (self.delay, self.at) = (defaults.delay.clone(), defaults.at.clone());
        }
        self.expire_after = self.expire_after.take().or_else(|| defaults.expire_after.clone());
        self.batch_id = self.batch_id.take().or_else(|| defaults.batch_id.clone());
        self.max_retry = self.max_retry.or(defaults.max_retry);
        self
    }

    /// The name of its type; may be empty.
    pub(crate) fn task_type(&self) -> &str {
        &self.task_type
    }

    /// What admission takes. `body` are the bytes that this was read from.
    ///
    /// # Errors
    /// The fields that can't be read.
    pub(crate) fn submission(&self, body: &Bytes) -> Result<Submission<'_>, Vec<Problem>> {
        let mut problems = Vec::new();
        let payload = self.payload(body, &mut problems);
        let read_duration = |text: &str| duration::parse_ms(text);
        let submission = Submission {
            task_type: &self.task_type,
            payload,
            idempotency_key: &self.idempotency_key,
            pool: &self.pool,
            tier: &self.tier,
            at: read("at", &self.at, instant, &mut problems).unwrap_or(0),
            delay_ms: read("delay", &self.delay, read_duration, &mut problems).unwrap_or(0),
            expire_after_ms: read("expire_after", &self.expire_after, read_duration, &mut problems)
                .unwrap_or(0),
            max_retry: self.max_retry,
            batch_id: read("batch_id", &self.batch_id, str::parse::<TaskId>, &mut problems),
            batch_row: self.batch_row,
            parent_id: read("parent_id", &self.parent_id, str::parse::<TaskId>, &mut problems),
            traceparent: &self.traceparent,
            rejected: self
                .rejected
                .as_ref()
                .map(|row| serde_json::json!(row).to_string()),
            ..Submission::default()
        };
        if problems.is_empty() {
            Ok(submission)
        } else {
            Err(problems)
        }
    }

    fn payload(&self, body: &Bytes, problems: &mut Vec<Problem>) -> Bytes {
        match (self.payload, &self.payload_base64) {
            (None, None) => Bytes::new(),
            (Some(raw), None) => body.slice_ref(raw.get().as_bytes()),
            (None, Some(text)) => match STANDARD.decode(text.as_bytes()) {
                Ok(bytes) => bytes.into(),
                Err(error) => {
                    let reason = format!("is no base64: {error}");
                    problems.push(Problem::new(
                        "payload_base64",
                        reason,
                        "use the standard alphabet with padding",
                    ));
                    Bytes::new()
                }
            },
            (Some(_), Some(_)) => {
                let reason = "is given beside payload";
                problems.push(Problem::new("payload_base64", reason, "give one of them"));
                Bytes::new()
            }
        }
    }
}

fn read<T, E: ToString>(
    field: &str,
    text: &Option<Cow<'_, str>>,
    read: impl FnOnce(&str) -> Result<T, E>,
    problems: &mut Vec<Problem>,
) -> Option<T> {
    match text.as_deref().map(read)? {
        Ok(value) => Some(value),
        Err(error) => {
            problems.push(Problem::new(field, error.to_string(), ""));
            None
        }
    }
}

/// One task to be accepted, as OpenAPI describes it.
#[derive(utoipa::ToSchema)]
#[schema(as = Submission)]
#[expect(dead_code, reason = "describes a shape")]
pub(crate) struct SubmissionShape {
    /// The name of a declared type.
    task_type: String,
    /// Any JSON; its exact text is kept.
    #[schema(value_type = Option<serde_json::Value>)]
    payload: Option<()>,
    /// A payload that is no JSON.
    payload_base64: Option<String>,
    /// The same key is the same task.
    idempotency_key: Option<String>,
    /// The pool, if not the type's.
    pool: Option<String>,
    /// `critical`, `high`, `normal` or `low`, if not the type's.
    tier: Option<String>,
    /// How long to wait: `30s`.
    delay: Option<String>,
    /// When it is due: RFC 3339 with an offset.
    at: Option<String>,
    /// How long until a start is refused: `1h`.
    expire_after: Option<String>,
    /// Retries that it may spend.
    max_retry: Option<u16>,
    /// Its batch, a UUID.
    batch_id: Option<String>,
    /// Its row in the batch.
    batch_row: Option<u32>,
    /// The task that made it.
    parent_id: Option<String>,
    /// The caller's own trace, which its trace links to.
    traceparent: Option<String>,
    /// Stores it dead, as a bad row of a file.
    rejected: Option<RejectedRow>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(body: &'static str, check: impl FnOnce(Result<Submission<'_>, Vec<Problem>>)) {
        let body = Bytes::from_static(body.as_bytes());
        let parsed: SubmissionBody<'_> = serde_json::from_slice(&body).unwrap();
        check(parsed.submission(&body));
    }

    #[test]
    fn a_payload_keeps_its_exact_text() {
        with(
            r#"{"type":"t","payload": {"n" : 18446744073709551615, "x":1.00, "s":"\u0000"} }"#,
            |read| {
                let read = read.unwrap();
                assert_eq!(
                    &read.payload[..],
                    br#"{"n" : 18446744073709551615, "x":1.00, "s":"\u0000"}"#
                );
                assert_eq!(read.task_type, "t");
            },
        );
        with(r#"{"task_type":"t","payload":null}"#, |read| {
            assert_eq!(&read.unwrap().payload[..], b"null")
        });
        with(r#"{"task_type":"t"}"#, |read| {
            assert!(read.unwrap().payload.is_empty())
        });
        with(r#"{"task_type":"t","payload_base64":"AP8="}"#, |read| {
            assert_eq!(&read.unwrap().payload[..], b"\0\xff");
        });
    }

    #[test]
    fn every_field_that_cant_be_read_is_named() {
        let body =
            r#"{"task_type":"t","at":"soon","delay":"5","batch_id":"x","payload":1,"payload_base64":""}"#;
        with(body, |read| {
            let fields: Vec<_> = read
                .unwrap_err()
                .into_iter()
                .map(|problem| problem.field)
                .collect();
            assert_eq!(fields, ["payload_base64", "at", "delay", "batch_id"]);
        });
    }

    #[test]
    fn what_is_left_out_comes_from_the_request() {
        let body = Bytes::from_static(br#"{"tier":"low","delay":"1s"}"#);
        let parsed: SubmissionBody<'_> = serde_json::from_slice(&body).unwrap();
        let defaults = serde_json::from_str(
            r#"{"task_type":"t","tier":"high","at":"2026-01-01T00:00:00Z","max_retry":7,"pool":"p"}"#,
        );
        let filled = parsed.or(&defaults.unwrap());
        let read = filled.submission(&body).unwrap();
        assert_eq!(
            (read.task_type, read.tier, read.pool, read.max_retry),
            ("t", "low", "p", Some(7))
        );
        assert_eq!((read.delay_ms, read.at), (1_000, 0));
    }

    #[test]
    fn a_rejected_row_becomes_its_error_text() {
        with(
            r#"{"task_type":"t","rejected":{"line":3,"column":"room_id","reason":"no integer"}}"#,
            |read| {
                let text = read.unwrap().rejected.unwrap();
                assert_eq!(text, r#"{"line":3,"column":"room_id","reason":"no integer"}"#);
            },
        );
    }
}
