//! Makes a batch of a fire: every row of a file, of an answer, or of a handler's lines becomes a task.
//!
//! The task that runs here is the batch: its id is the batch's, and a row has the key `<task>/<line>`. So a run that is
//! retried, or that another executor takes over, goes on where the last one ended, and two at once do no harm. The seal
//! is the last step; who finds it has nothing left to do.

mod files;
mod row_tasks;
mod source;
mod submit;

use std::sync::Arc;

use admission::{KnownType, Limits};
use bytes::Bytes;
use domain::FAN_OUT;
use handler::{HandlerError, TaskContext, TaskHandler, async_trait};
use plan::{Order, Source};
use serde_json::json;
use store::{Seal, Sealed};
use tokio::sync::mpsc;

pub use files::FilePolicy;

use self::row_tasks::RowTasks;
use self::source::{Fetched, Giver, blocking};
use crate::{Executor, attempt::known_type};

/// Parts of a batch that are read ahead of those that are stored.
const AHEAD: usize = 2;

/// What a fire may become a batch of.
#[derive(Debug, Clone)]
pub struct FanOut {
    /// The files that may be read.
    pub files: FilePolicy,
    /// Most bytes of a file, an answer or a list.
    pub source_bytes: u64,
    /// Most rows.
    pub source_rows: u64,
    /// What the task of a row may be.
    pub limits: Limits,
}

/// The run of one such task.
struct Emitter {
    executor: Arc<Executor>,
    order: Order,
    /// What gives the rows, where they are not in a file.
    giver: Option<Giver>,
}

/// How many rows were stored, and how many of them dead from the start.
#[derive(Debug, Default, Clone, Copy)]
struct Emitted {
    rows: u64,
    rejected: u64,
}

/// The handler of a task that makes a batch, by its payload.
pub(crate) async fn prepare(
    executor: &Arc<Executor>,
    payload: &Bytes,
) -> Result<Arc<dyn TaskHandler>, HandlerError> {
    let order = order(payload)?;
    let giver = match &order.fan_out.source {
        Source::File { .. } => None,
        Source::Url { url, timeout_ms, .. } => Some(Giver {
            handler: executor
                .parts
                .handlers
                .get(url.text(), *timeout_ms)
                .map_err(invalid)?,
            task_type: FAN_OUT.to_owned(),
            payload: Bytes::new(),
        }),
        Source::Handler { task_type } => {
            let (version, known) = known_type(executor, task_type).await.map_err(no_handler)?;
            if known.spec().handler == FAN_OUT {
                return Err(invalid(format!(
                    "type {task_type:?} makes batches itself; name one that gives rows"
                )));
            }
            let handler = executor.parts.handlers.of(version, known.spec());
            Some(Giver {
                handler: handler.map_err(no_handler)?,
                task_type: task_type.clone(),
                payload: order.payload.clone().unwrap_or_default().into(),
            })
        }
    };
    Ok(Arc::new(Emitter {
        executor: Arc::clone(executor),
        order,
        giver,
    }))
}

fn order(payload: &Bytes) -> Result<Order, HandlerError> {
    let text = std::str::from_utf8(payload).map_err(|error| invalid(error.to_string()))?;
    Order::parse(text).map_err(|problems| {
        let told: Vec<_> = problems.iter().map(ToString::to_string).collect();
        invalid(told.join(". "))
    })
}

fn invalid(reason: String) -> HandlerError {
    HandlerError::deterministic("invalid_input", reason)
}

fn no_handler(reason: String) -> HandlerError {
    HandlerError::transient("no_handler", reason)
}

/// The store's answer once it can't be waited for any longer.
fn unanswered(error: store::Error) -> HandlerError {
    HandlerError::transient("store", error)
}

/// The rows are others than those that an earlier attempt read.
fn changed(reason: String) -> HandlerError {
    let remedy = "the source changed between two attempts; what was stored stays, trigger the schedule again for the rest";
    HandlerError::deterministic("source_changed", format!("{reason}: {remedy}"))
}

#[async_trait]
impl TaskHandler for Emitter {
    async fn run(&self, ctx: &TaskContext, _: Bytes) -> Result<Bytes, HandlerError> {
        if let Some(sealed) = self.sealed_before(ctx).await? {
            ctx.output().line("all rows were stored by an earlier attempt");
            return Ok(json!({"batch_id": ctx.task_id(), "rows": sealed.seal.total})
                .to_string()
                .into());
        }
        let (_, each) = known_type(&self.executor, &self.order.fan_out.each)
            .await
            .map_err(no_handler)?;
        let fetched = self.fetch(ctx).await?;
        let name = fetched.source.name().to_owned();
        let emitted = tokio::select! {
            biased;
            reason = ctx.stop().requested() => return Err(HandlerError::stopped(reason)),
            emitted = self.emit(ctx, fetched, each) => emitted?,
        };
        self.seal(ctx, emitted.rows).await?;
        let Emitted { rows, rejected } = emitted;
        ctx.output()
            .line(&format!("{rows} rows of {name}, {rejected} of them rejected"));
        let result = json!({"batch_id": ctx.task_id(), "rows": rows, "rejected": rejected});
        Ok(result.to_string().into())
    }

    fn lost_grace(&self) -> std::time::Duration {
        let giver = self.giver.as_ref();
        giver.map_or(std::time::Duration::ZERO, |giver| giver.handler.lost_grace())
    }

    fn stop_grace(&self) -> std::time::Duration {
        let own = std::time::Duration::from_secs(2);
        self.giver
            .as_ref()
            .map_or(own, |giver| giver.handler.stop_grace())
    }
}

impl Emitter {
    /// What an earlier attempt said at its end.
    async fn sealed_before(&self, ctx: &TaskContext) -> Result<Option<Sealed>, HandlerError> {
        let (store, batch) = (&self.executor.parts.store, ctx.task_id());
        let limit = ctx.run_timeout();
        let sealed = store::playing::answered(limit, |_| store.sealed(batch)).await;
        if let Some(sealed) = sealed.map_err(unanswered)? {
            return Ok(Some(sealed));
        }
        let now = store::playing::answered(limit, |_| store.ping())
            .await
            .map_err(unanswered)?;
        let window_ms = self.executor.config.fan_out.limits.key_window_ms;
        if now - batch.made_at() < window_ms {
            return Ok(None);
        }
        let begun = store::playing::answered(limit, |_| store.batch(batch))
            .await
            .map_err(unanswered)?;
        match begun {
            None => Ok(None),
            Some(_) => Err(HandlerError::deterministic(
                "rows_forgotten",
                "some rows were stored longer ago than their keys live (retention.keys), so they could be doubled; trigger the schedule again",
            )),
        }
    }

    /// Stores every row. They are read elsewhere, a few parts ahead.
    async fn emit(
        &self,
        ctx: &TaskContext,
        fetched: Fetched,
        each: Arc<KnownType>,
    ) -> Result<Emitted, HandlerError> {
        let config = &self.executor.config.fan_out;
        let row_tasks = RowTasks {
            parent: ctx.task_id(),
            planned_at: ctx.planned_at().unwrap_or(0),
            each,
            types: self.executor.parts.types.table(),
            limits: config.limits,
            most: config
                .source_rows
                .min(self.order.fan_out.max_rows.unwrap_or(u64::MAX)),
        };
        let (sender, mut parts) = mpsc::channel(AHEAD);
        let reading = tokio::spawn(blocking(move || row_tasks.read(&fetched, &sender)));
        let mut emitted = Emitted::default();
        while let Some(part) = parts.recv().await {
            emitted.rows += part.tasks.len() as u64;
            emitted.rejected += part.rejected;
            self.submit(ctx, part.tasks).await?;
        }
        match reading.await {
            Ok(read) => read.map(|()| emitted),
            Err(error) => Err(HandlerError::transient("reading", error)),
        }
    }

    /// Says that these were all; what follows them is the scheduler's.
    async fn seal(&self, ctx: &TaskContext, rows: u64) -> Result<(), HandlerError> {
        let (store, batch) = (&self.executor.parts.store, ctx.task_id());
        let limit = ctx.run_timeout();
        let counts = store::playing::answered(limit, |_| store.batch(batch))
            .await
            .map_err(unanswered)?;
        let stored = counts.map_or(0, |counts| counts.total);
        if stored != rows {
            return Err(changed(format!(
                "{stored} rows were stored, but there are {rows}"
            )));
        }
        let seal = Seal {
            total: rows,
            then: self.order.fan_out.then.clone(),
            parent_id: Some(batch),
        };
        let origin = &self.executor.origin;
        let sealed = store::playing::answered(limit, |nonce| store.seal(nonce, origin, batch, &seal));
        let sealed = sealed.await.map_err(unanswered)?;
        if sealed.seal == seal {
            Ok(())
        } else {
            Err(changed(format!(
                "the batch was sealed with {} rows",
                sealed.seal.total
            )))
        }
    }
}
