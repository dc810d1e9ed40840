//! Brings the rows to where they can be read twice: the file itself, or a copy of what an address or a handler gave.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use handler::{HandlerError, Lines, LinesError, TaskContext, TaskHandler};
use plan::{Format, Rows, Source};

use super::Emitter;

/// What can be read twice, and how.
pub(super) struct Fetched {
    pub(super) source: rows::Source,
    pub(super) how: Rows,
}

/// A handler that gives the rows, and what it is given.
pub(super) struct Giver {
    pub(super) handler: Arc<dyn TaskHandler>,
    pub(super) task_type: String,
    pub(super) payload: Bytes,
}

/// Work that would hold up others, on a thread of its own.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, HandlerError> + Send + 'static,
) -> Result<T, HandlerError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => Err(HandlerError::transient("panic", error)),
    }
}

/// What a file that gives no rows means.
pub(super) fn refused(error: rows::Error) -> HandlerError {
    match error {
        rows::Error::Read { .. } => HandlerError::transient("source_unreadable", error),
        rows::Error::Encoding { .. } | rows::Error::Refused { .. } => {
            HandlerError::deterministic("invalid_input", error)
        }
    }
}

fn temporary(error: std::io::Error) -> HandlerError {
    HandlerError::transient("temporary_file", error).context("writing down the rows")
}

impl Emitter {
    /// The rows, checked to be a text of their encoding.
    pub(super) async fn fetch(&self, ctx: &TaskContext) -> Result<Fetched, HandlerError> {
        let config = &self.executor.config.fan_out;
        match &self.order.fan_out.source {
            Source::File { path, rows } => {
                let (path, how) = (PathBuf::from(path.text()), rows.clone());
                let (files, most) = (config.files.clone(), config.source_bytes);
                let name = path.display().to_string();
                blocking(move || whole(files.open(&path, most)?, name, how)).await
            }
            Source::Url { url, rows, .. } => {
                // What stands behind the path may be a secret.
                let name = url.text().split(['?', '#']).next().unwrap_or_default().to_owned();
                self.copied(ctx, name, rows.clone()).await
            }
            Source::Handler { task_type } => {
                let name = format!("the list of {task_type}");
                self.copied(ctx, name, Rows::new(Format::Jsonl)).await
            }
        }
    }

    /// Runs what gives the rows, and keeps them in a file without a name.
    async fn copied(&self, ctx: &TaskContext, name: String, how: Rows) -> Result<Fetched, HandlerError> {
        let Some(giver) = &self.giver else {
            return Err(HandlerError::transient("no_handler", "nothing gives the rows"));
        };
        let file = tempfile::tempfile().map_err(temporary)?;
        let sink = BufWriter::new(file.try_clone().map_err(temporary)?);
        let lines = Lines::new(sink, self.executor.config.fan_out.source_bytes);
        let inner = TaskContext::builder(ctx.task_id(), giver.task_type.as_str())
            .attempt(ctx.attempt())
            .planned_at(ctx.planned_at())
            .traceparent(ctx.traceparent())
            .run_timeout(ctx.run_timeout())
            .output(ctx.output().clone())
            .lines(lines.clone())
            .stop(ctx.stop().clone())
            .lease(ctx.lease().clone())
            .fencing_token(ctx.fencing_token())
            .build();
        let result = giver.handler.run(&inner, giver.payload.clone()).await;
        let written = lines.finish();
        // To ask for rows once more changes nothing on the other side.
        let result = result.map_err(|error| HandlerError {
            unknown_outcome: false,
            ..error
        })?;
        blocking(move || {
            if written.map_err(not_kept)? == 0 {
                (&file).write_all(&result).map_err(temporary)?;
            }
            whole(file, name, how)
        })
        .await
    }
}

fn not_kept(error: LinesError) -> HandlerError {
    match error {
        LinesError::TooLong(_) => HandlerError::deterministic(
            "source_too_large",
            format!("{error}, which is all that limits.source_bytes allows"),
        ),
        LinesError::Sink(_) => HandlerError::transient("temporary_file", error),
    }
}

fn whole(file: File, name: String, how: Rows) -> Result<Fetched, HandlerError> {
    let source = rows::Source::of(file, name, how.encoding).map_err(refused)?;
    Ok(Fetched { source, how })
}
