//! A task as the API shows it (DESIGN section 2).

use base64::{Engine, engine::general_purpose::STANDARD};
use domain::{ErrorClass, Status, SubState, TaskId, Tier, TimelineItem, summary};
use serde::Serialize;
use serde_json::value::RawValue;
use store::TaskView;
use utoipa::ToSchema;

use crate::time::Instant;

/// A task. Instants are UTC; what never happened is null.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Task)]
pub(crate) struct TaskJson<'a> {
    #[schema(value_type = String)]
    task_id: TaskId,
    task_type: &'a str,
    #[schema(value_type = String)]
    status: Status,
    /// What a waiting task waits for: `delayed`, `ready`, `dispatched` or `blocked` (by an earlier task of its schedule).
    #[schema(value_type = Option<String>)]
    sub_state: Option<SubState>,
    version: u32,
    pool: &'a str,
    #[schema(value_type = String)]
    tier: Tier,
    #[schema(value_type = String)]
    effective_tier: Tier,
    retry_count: u16,
    max_retry: u16,
    attempt: u32,
    losses: u16,
    max_lost: u16,
    /// A duration such as `5m`.
    run_timeout: String,
    #[schema(value_type = Option<String>)]
    next_run_time: Option<Instant>,
    #[schema(value_type = Option<String>)]
    create_time: Option<Instant>,
    #[schema(value_type = Option<String>)]
    update_time: Option<Instant>,
    #[schema(value_type = Option<String>)]
    expire_at: Option<Instant>,
    #[schema(value_type = Option<String>)]
    ready_at: Option<Instant>,
    #[schema(value_type = Option<String>)]
    dispatched_at: Option<Instant>,
    #[schema(value_type = Option<String>)]
    claimed_at: Option<Instant>,
    #[schema(value_type = Option<String>)]
    finished_at: Option<Instant>,
    #[schema(value_type = Option<String>)]
    deadline: Option<Instant>,
    idempotency_key: Option<&'a str>,
    schedule_id: Option<&'a str>,
    #[schema(value_type = Option<String>)]
    planned_at: Option<Instant>,
    #[schema(value_type = Option<String>)]
    batch_id: Option<TaskId>,
    batch_row: Option<u32>,
    #[schema(value_type = Option<String>)]
    parent_id: Option<TaskId>,
    executor_id: Option<&'a str>,
    lease_token: Option<String>,
    actor: &'a str,
    #[schema(value_type = Option<String>)]
    error_class: Option<ErrorClass>,
    error_code: Option<&'a str>,
    /// Message and cause chain.
    error: Option<&'a str>,
    payload_sha256: String,
    payload_bytes: usize,
    /// First 200 characters of the payload.
    input_info: String,
    /// First 200 characters of the result.
    result_info: Option<String>,
    #[serde(flatten)]
    texts: Option<Texts<'a>>,
}

/// Payload and result: JSON as its exact text, anything else in base64. Only in the answer for a single task.
#[derive(Debug, Serialize, ToSchema)]
struct Texts<'a> {
    #[serde(flatten)]
    #[schema(inline)]
    payload: Payload<'a>,
    #[serde(flatten)]
    #[schema(inline)]
    result: Option<ResultText<'a>>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Payload<'a> {
    #[schema(value_type = serde_json::Value)]
    Payload(&'a RawValue),
    PayloadBase64(String),
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum ResultText<'a> {
    #[schema(value_type = serde_json::Value)]
    Result(&'a RawValue),
    ResultBase64(String),
}

/// The JSON text that these bytes are, if they are one.
pub(crate) fn exact(bytes: &[u8]) -> Option<&RawValue> {
    serde_json::from_slice(bytes).ok()
}

fn text(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

impl<'a> TaskJson<'a> {
    /// A task of a list: without payload and result, which may be large.
    pub(crate) fn brief(view: &'a TaskView) -> Self {
        let task = &view.task;
        Self {
            task_id: task.id,
            task_type: &task.task_type,
            status: task.status,
            sub_state: view.sub_state,
            version: task.version,
            pool: &task.pool,
            tier: task.tier,
            effective_tier: task.effective_tier,
            retry_count: task.retry_count,
            max_retry: task.max_retry,
            attempt: task.attempt,
            losses: task.losses,
            max_lost: task.max_lost,
            run_timeout: domain::duration::format_ms(task.run_timeout_ms),
            next_run_time: Instant::some(task.next_run_time),
            create_time: Instant::some(task.create_time),
            update_time: Instant::some(task.update_time),
            expire_at: Instant::some(task.expire_at),
            ready_at: Instant::some(task.ready_at),
            dispatched_at: Instant::some(task.dispatched_at),
            claimed_at: Instant::some(task.claimed_at),
            finished_at: Instant::some(task.finished_at),
            deadline: Instant::some(task.deadline),
            idempotency_key: text(&task.idempotency_key),
            schedule_id: text(&task.schedule_id),
            planned_at: Instant::some(task.planned_at),
            batch_id: task.batch_id,
            batch_row: task.batch_id.map(|_| task.batch_row),
            parent_id: task.parent_id,
            executor_id: text(&task.executor_id),
            lease_token: task.lease_token.map(|token| format!("{token:?}")),
            actor: &task.actor,
            error_class: task.error_class,
            error_code: text(&task.error_code),
            error: text(&view.error),
            payload_sha256: hex(&task.payload_sha256),
            payload_bytes: view.payload.len(),
            input_info: summary(&view.payload),
            result_info: (!view.result.is_empty()).then(|| summary(&view.result)),
            texts: None,
        }
    }

    /// A task whole.
    pub(crate) fn whole(view: &'a TaskView) -> Self {
        let payload = exact(&view.payload);
        let payload = payload.map_or_else(
            || Payload::PayloadBase64(STANDARD.encode(&view.payload)),
            Payload::Payload,
        );
        let result = (!view.result.is_empty()).then(|| match exact(&view.result) {
            Some(raw) => ResultText::Result(raw),
            None => ResultText::ResultBase64(STANDARD.encode(&view.result)),
        });
        Self {
            texts: Some(Texts { payload, result }),
            ..Self::brief(view)
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            // Writing to a string can't fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
}

/// One transition.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TimelineItem)]
pub(crate) struct TimelineJson<'a> {
    version: u32,
    #[schema(value_type = Option<String>)]
    from: Option<Status>,
    #[schema(value_type = String)]
    to: Status,
    #[schema(value_type = Option<String>)]
    at: Option<Instant>,
    attempt: u32,
    actor: &'a str,
    node: &'a str,
    reason: Option<&'a str>,
    #[schema(value_type = Option<String>)]
    error_class: Option<ErrorClass>,
    error_code: Option<&'a str>,
}

impl<'a> From<&'a TimelineItem> for TimelineJson<'a> {
    fn from(item: &'a TimelineItem) -> Self {
        Self {
            version: item.version,
            from: item.from,
            to: item.to,
            at: Instant::some(item.at),
            attempt: item.attempt,
            actor: &item.actor,
            node: &item.node,
            reason: text(&item.reason),
            error_class: item.error_class,
            error_code: text(&item.error_code),
        }
    }
}
