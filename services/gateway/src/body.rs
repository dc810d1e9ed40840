//! Bodies and queries: read whole and bounded, and where they can't be read the answer names the place.

use std::{sync::Arc, time::Duration};

use axum::{
    body::{Body, to_bytes},
    extract::{FromRequest, FromRequestParts, Request},
    http::{StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use domain::TaskId;
use serde::{Deserialize, Serialize};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{gate::Entrance, refusal::Refusal};

/// Most bytes of a body: a bulk submission.
pub(crate) const BODY_BYTES: usize = 8 << 20;

/// Bytes of all bodies that are worked on at a time, in units.
const ROOM_UNITS: u32 = (256 << 20) / UNIT as u32;
const UNIT: usize = 1 << 10;
/// Longest wait for room.
const ROOM_WAIT: Duration = Duration::from_secs(5);

/// Bounds what all bodies together take.
#[derive(Debug, Clone)]
pub(crate) struct Room(Arc<Semaphore>);

impl Default for Room {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(ROOM_UNITS as usize)))
    }
}

impl Room {
    async fn take(&self, bytes: usize) -> Result<OwnedSemaphorePermit, Refusal> {
        let units = u32::try_from(bytes.div_ceil(UNIT).max(1)).unwrap_or(ROOM_UNITS);
        let permit = Arc::clone(&self.0).acquire_many_owned(units.min(ROOM_UNITS));
        match tokio::time::timeout(ROOM_WAIT, permit).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) | Err(_) => Err(Refusal::unavailable("too many requests are worked on")),
        }
    }
}

/// The bytes of a body, up to 8 MiB. Its room is free again when it is dropped.
#[derive(Debug)]
pub(crate) struct Whole {
    pub(crate) body: Bytes,
    _room: OwnedSemaphorePermit,
}

impl FromRequest<Entrance> for Whole {
    type Rejection = Refusal;

    async fn from_request(request: Request, entrance: &Entrance) -> Result<Self, Refusal> {
        let told = request.headers().get(header::CONTENT_LENGTH);
        let told = told.and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
        if told.is_some_and(|length| length > BODY_BYTES) {
            return Err(Refusal::too_large(BODY_BYTES));
        }
        let room = entrance.room.take(told.unwrap_or(BODY_BYTES)).await?;
        Ok(Self {
            body: read(request.into_body()).await?,
            _room: room,
        })
    }
}

async fn read(body: Body) -> Result<Bytes, Refusal> {
    to_bytes(body, BODY_BYTES).await.map_err(|error| {
        let mut source = std::error::Error::source(&error);
        while let Some(inner) = source {
            if inner.to_string().contains("length limit exceeded") {
                return Refusal::too_large(BODY_BYTES);
            }
            source = inner.source();
        }
        Refusal::malformed("body", "ended before its time", "send it again")
    })
}

/// Reads a JSON body, which is always an object.
///
/// # Errors
/// 400 with the field and the place.
pub(crate) fn parse<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, Refusal> {
    let first = body.trim_ascii_start().first();
    if first.is_some_and(|first| *first != b'{') {
        let reason = "is no JSON object, at line 1 column 1";
        return Err(Refusal::malformed("body", reason, "see /api/openapi.json"));
    }
    serde_json::from_slice(body).map_err(|error| located::<T>(body, &error))
}

/// Reads a JSON body that may be left out.
pub(crate) fn parse_or_default<'a, T: Deserialize<'a> + Default>(body: &'a [u8]) -> Result<T, Refusal> {
    if body.trim_ascii().is_empty() {
        Ok(T::default())
    } else {
        parse(body)
    }
}

/// Read again with a record of the way, which would cost too much for every good body.
fn located<'a, T: Deserialize<'a>>(body: &'a [u8], error: &serde_json::Error) -> Refusal {
    let mut reader = serde_json::Deserializer::from_slice(body);
    let path = serde_path_to_error::deserialize::<_, T>(&mut reader)
        .err()
        .map(|error| error.path().to_string());
    let reason = error.to_string();
    let named = reason.split('`').nth(1).filter(|_| reason.contains(" field `"));
    let path = path.filter(|path| path != "." && !path.starts_with("?"));
    let field = match (path, named) {
        (Some(path), Some(name)) if path == name || path.ends_with(&format!(".{name}")) => path,
        (Some(path), Some(name)) => format!("{path}.{name}"),
        (Some(path), None) => path,
        (None, Some(name)) => name.to_owned(),
        (None, None) => "body".to_owned(),
    };
    Refusal::malformed(&field, reason, "see /api/openapi.json")
}

/// An answer in JSON.
pub(crate) fn json<T: Serialize + ?Sized>(status: StatusCode, value: &T) -> Response {
    match serde_json::to_vec(value) {
        Ok(body) => (status, [(header::CONTENT_TYPE, "application/json")], body).into_response(),
        Err(error) => {
            tracing::error!(%error, "an answer can't be written");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// The id of a task or batch in a path.
pub(crate) fn id(field: &str, text: &str) -> Result<TaskId, Refusal> {
    text.parse().map_err(|error: domain::IdError| {
        Refusal::malformed(
            field,
            error.to_string(),
            "copy it from the answer to the submission",
        )
    })
}

/// What stands behind the `?`.
#[derive(Debug, Default)]
pub(crate) struct Params(Vec<(String, String)>);

impl<S: Send + Sync> FromRequestParts<S> for Params {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let query = axum::extract::Query::<Vec<(String, String)>>::from_request_parts(parts, state).await;
        let refuse = |_| Refusal::malformed("query", "can't be read", "write name=value, joined by &");
        query.map(|query| Self(query.0)).map_err(refuse)
    }
}

impl Params {
    /// Refuses names that the path does not know, and names given twice.
    pub(crate) fn only(self, known: &[&str]) -> Result<Self, Refusal> {
        for (index, (name, _)) in self.0.iter().enumerate() {
            if !known.contains(&name.as_str()) {
                let remedy = format!("give {}", known.join(", "));
                return Err(Refusal::malformed(name, "is no parameter of this path", &remedy));
            }
            if self.0[..index].iter().any(|(other, _)| other == name) {
                return Err(Refusal::malformed(name, "is given twice", "give it once"));
            }
        }
        Ok(self)
    }

    /// The value, if it is given and not empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty())
    }

    /// The value read by `read`.
    ///
    /// # Errors
    /// 400 that names the parameter.
    pub(crate) fn read<T, E: ToString>(
        &self,
        name: &str,
        read: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Option<T>, Refusal> {
        let value = self.get(name).map(read).transpose();
        value.map_err(|error| Refusal::malformed(name, error.to_string(), "see /api/openapi.json"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Outer {
        #[serde(rename = "items")]
        _items: Vec<Inner>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        #[serde(rename = "count")]
        _count: u32,
    }

    #[test]
    fn a_body_that_cant_be_read_says_where() {
        for (body, field, reason) in [
            (
                r#"{"items":[{"count":"x"}]}"#,
                "items[0].count",
                "expected u32 at line 1 column",
            ),
            (
                r#"{"items":[{"count":1},{"cuont":1}]}"#,
                "items[1].cuont",
                "unknown field",
            ),
            (r#"{"items":[{}]}"#, "items[0].count", "missing field"),
            (
                "{\"items\":[{\"count\":1}\n",
                "items",
                "EOF while parsing a list at line 2",
            ),
            ("", "body", "EOF"),
            ("[]", "body", "object"),
        ] {
            let refusal = parse::<Outer>(body.as_bytes()).unwrap_err();
            let problem = &refusal.errors[0];
            assert_eq!(
                (problem.field.as_str(), refusal.status.as_u16()),
                (field, 400),
                "{body}: {problem}"
            );
            assert!(problem.reason.contains(reason), "{body}: {problem}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn bodies_wait_for_room_and_then_are_refused() {
        let room = Room::default();
        let all = room.take(usize::MAX).await.unwrap();
        assert_eq!(
            room.take(1).await.unwrap_err().status,
            StatusCode::SERVICE_UNAVAILABLE
        );
        drop(all);
        assert!(room.take(BODY_BYTES).await.is_ok());
    }

    #[test]
    fn parameters_are_known_and_given_once() {
        let params =
            |pairs: &[(&str, &str)]| Params(pairs.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect());
        assert!(params(&[("limit", "5")]).only(&["limit"]).is_ok());
        for bad in [&[("limt", "5")][..], &[("limit", "5"), ("limit", "6")]] {
            assert_eq!(
                params(bad).only(&["limit"]).unwrap_err().status,
                StatusCode::BAD_REQUEST
            );
        }
    }
}
