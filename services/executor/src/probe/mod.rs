//! Answers what a run waits for: its phase, its last span, and the processes of a command with what they have open.
//!
//! Only this executor's own runs are told of, and of processes only what the kernel shows of their waiting: neither
//! environment nor arguments.

mod descriptors;
mod processes;
mod sockets;

use std::{sync::Arc, time::Duration};

use domain::TaskId;
use handler::StopReason;
use messaging::Question;
use proto::{ProbeReply, ProbeRequest};
use runtime::{Backoff, Shutdown};

use crate::Executor;

/// Longest look at the processes of a run.
const LOOK_LIMIT: Duration = Duration::from_secs(1);

/// Answers until the shutdown.
pub(crate) async fn answer(executor: Arc<Executor>, shutdown: Shutdown) {
    shutdown.or_stop(answer_for_ever(&executor)).await;
}

async fn answer_for_ever(executor: &Executor) {
    let mut backoff = Backoff::default();
    loop {
        let Ok(mut questions) = executor.parts.bus.probe_questions(&executor.config.id).await else {
            tokio::time::sleep(backoff.next_wait()).await;
            continue;
        };
        // One after the other: a look costs some milliseconds, and people ask.
        while let Some(question) = questions.next().await {
            answer_one(executor, question).await;
        }
    }
}

async fn answer_one(executor: &Executor, question: Question<ProbeRequest>) {
    let reply = match TaskId::from_slice(&question.asked.task_id) {
        Ok(task) => look(executor, task).await,
        Err(_) => ProbeReply::default(),
    };
    if let Err(error) = question.answer(&reply).await {
        tracing::debug!(%error, "a question about a run was not answered");
    }
}

async fn look(executor: &Executor, task: TaskId) -> ProbeReply {
    let Some(run) = executor.runs.view(task) else {
        return ProbeReply::default();
    };
    let types = executor.parts.types.table();
    let handler = match types.get(&run.task_type) {
        Some(Ok(known)) => known.spec().handler.clone(),
        Some(Err(_)) | None => String::new(),
    };
    let (phase, in_phase) = run.progress.phase.unwrap_or_default();
    let (span, in_span) = run.progress.span.unwrap_or_default();
    let mut reply = ProbeReply {
        running: true,
        attempt: run.attempt,
        ran_ms: ms(run.ran),
        handler,
        phase,
        phase_ms: ms(in_phase),
        span: span.to_owned(),
        span_ms: ms(in_span),
        stopping: run
            .stop
            .map_or_else(String::new, |reason| word(reason).to_owned()),
        ..ProbeReply::default()
    };
    if let Some(root) = run.progress.process {
        let looked = tokio::task::spawn_blocking(move || processes::below(root));
        if let Ok(Ok((found, more))) = tokio::time::timeout(LOOK_LIMIT, looked).await {
            (reply.processes, reply.more_processes) = (found, more);
        }
    }
    reply
}

fn ms(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

const fn word(reason: StopReason) -> &'static str {
    match reason {
        StopReason::Cancelled => "cancelled",
        StopReason::Reset => "reset",
        StopReason::TimedOut => "timed out",
        StopReason::LeaseLost => "its lease is lost",
        StopReason::ShuttingDown => "the executor stops",
    }
}
