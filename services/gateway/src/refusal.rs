//! Errors as clients see them: problem details of RFC 9457, with the fields that are at fault.

use admission::Problem;
use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;
use utoipa::ToSchema;

/// Why a request is not done.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Refusal {
    #[serde(rename = "type")]
    kind: &'static str,
    title: &'static str,
    #[serde(serialize_with = "number")]
    pub(crate) status: StatusCode,
    pub(crate) detail: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) errors: Vec<Problem>,
    /// The task that is in the way, for a conflict.
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<String>,
    #[serde(skip)]
    retry_after_s: Option<u32>,
}

fn number<S: serde::Serializer>(status: &StatusCode, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u16(status.as_u16())
}

impl Refusal {
    fn new(status: StatusCode, title: &'static str, detail: impl Into<String>) -> Self {
        let (errors, task_id, retry_after_s) = (Vec::new(), None, None);
        Self {
            kind: "about:blank",
            title,
            status,
            detail: detail.into(),
            errors,
            task_id,
            retry_after_s,
        }
    }

    /// 400: the request can't be read.
    pub(crate) fn malformed(field: &str, reason: impl Into<String>, remedy: &str) -> Self {
        let problem = Problem::new(field, reason, remedy);
        let mut refusal = Self::new(StatusCode::BAD_REQUEST, "Malformed request", problem.to_string());
        refusal.errors = vec![problem];
        refusal
    }

    /// 422, or 413 where a payload is too large: it can be read, and is wrong.
    pub(crate) fn invalid(problems: Vec<Problem>) -> Self {
        let large = problems.iter().any(Problem::is_too_large);
        let (status, title) = match large {
            true => (StatusCode::PAYLOAD_TOO_LARGE, "Payload too large"),
            false => (StatusCode::UNPROCESSABLE_ENTITY, "Invalid input"),
        };
        let detail = problems
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(". ");
        Self {
            errors: problems,
            ..Self::new(status, title, detail)
        }
    }

    /// 413: the body is over its limit.
    pub(crate) fn too_large(limit: usize) -> Self {
        let reason = format!("is over the limit of {limit} bytes");
        let problem = Problem::new("body", reason, "send less in one request");
        let mut refusal = Self::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "Body too large",
            problem.to_string(),
        );
        refusal.errors = vec![problem];
        refusal
    }

    /// 403: it did not come from where requests may come from.
    pub(crate) fn foreign(field: &str, reason: &str, remedy: &str) -> Self {
        let problem = Problem::new(field, reason, remedy);
        let mut refusal = Self::new(StatusCode::FORBIDDEN, "Forbidden", problem.to_string());
        refusal.errors = vec![problem];
        refusal
    }

    /// 404: there is none.
    pub(crate) fn missing(what: &str, name: impl std::fmt::Display) -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "Not found",
            format!("there is no {what} {name}"),
        )
    }

    /// 405: the path is right, the method is not.
    pub(crate) fn method() -> Self {
        let detail = "this path does not take this method; see /api/openapi.json";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "Method not allowed", detail)
    }

    /// 409: the state of things is against it.
    pub(crate) fn conflict(field: &str, reason: impl Into<String>, remedy: &str) -> Self {
        let problem = Problem::new(field, reason, remedy);
        let mut refusal = Self::new(StatusCode::CONFLICT, "Conflict", problem.to_string());
        refusal.errors = vec![problem];
        refusal
    }

    /// The task that is in the way.
    pub(crate) fn with_task(mut self, task: domain::TaskId) -> Self {
        self.task_id = Some(task.to_string());
        self
    }

    /// 503: the store lost its data, and somebody has to restore it.
    pub(crate) fn lost(detail: impl Into<String>) -> Self {
        let mut refusal = Self::new(StatusCode::SERVICE_UNAVAILABLE, "Store lost", detail);
        refusal.retry_after_s = Some(30);
        refusal
    }

    /// 503: it may work later.
    pub(crate) fn unavailable(detail: impl Into<String>) -> Self {
        let mut refusal = Self::new(StatusCode::SERVICE_UNAVAILABLE, "Not available", detail);
        refusal.retry_after_s = Some(1);
        refusal
    }
}

impl From<store::Error> for Refusal {
    fn from(error: store::Error) -> Self {
        let detail = error.to_string();
        match error {
            store::Error::Unavailable(source) => Self::unavailable(format!("{detail}: {source}")),
            store::Error::Full(_) => {
                let mut refusal = Self::unavailable(detail);
                refusal.retry_after_s = Some(5);
                refusal
            }
            store::Error::Lost(_) => Self::lost(detail),
            store::Error::Unusable(_) => Self::unavailable(detail),
            store::Error::Corrupt(reason) => {
                tracing::error!(reason, "the store answered nonsense");
                Self::new(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "Internal error",
                    "the store answered nonsense; see the log",
                )
            }
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        // Nothing in it refuses to be written.
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let kind = [(header::CONTENT_TYPE, "application/problem+json")];
        let mut response = (self.status, kind, body).into_response();
        if let Some(seconds) = self.retry_after_s {
            response
                .headers_mut()
                .insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

/// Problem details of RFC 9457, as OpenAPI describes them.
#[derive(ToSchema)]
#[schema(as = Problem)]
#[expect(dead_code, reason = "describes a shape")]
pub(crate) struct RefusalShape {
    #[schema(rename = "type")]
    kind: String,
    title: String,
    status: u16,
    detail: String,
    errors: Option<Vec<FieldShape>>,
    /// The task that is in the way.
    task_id: Option<String>,
}

/// One field at fault.
#[derive(ToSchema)]
#[schema(as = FieldProblem)]
#[expect(dead_code, reason = "describes a shape")]
pub(crate) struct FieldShape {
    field: String,
    reason: String,
    remedy: String,
}
