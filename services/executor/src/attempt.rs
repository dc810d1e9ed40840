//! One run of one task: under its time limit, stoppable, and apart from all others.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use admission::{KnownType, TypeTable};
use bytes::Bytes;
use domain::{ErrorClass, FAN_OUT, Partition, Task};
use futures::FutureExt;
use handler::{HandlerError, LeaseKeeper, Output, StopReason, Stopper, TaskContext, TaskHandler};
use sha2::{Digest, Sha256};
use telemetry::Stage;
use tokio::{sync::OwnedSemaphorePermit, time::Instant};

use crate::end::{End, Ends, How};
use crate::{Executor, fan_out, runs::Running};

/// A run whose lease is lost has at most so much of the lease to end, a twelfth.
const LOST_GRACE_OF_LEASE: u32 = 12;

/// Starts the run of a claimed task in a slot, under a lease that certainly lasts `until`.
pub(crate) fn start(
    executor: &Arc<Executor>,
    partition: Partition,
    task: Task,
    payload: Bytes,
    (permit, until): (OwnedSemaphorePermit, Instant),
    ends: &Ends,
) {
    let Some(token) = task.lease_token else { return };
    let (stopper, signal) = Stopper::new();
    let stopper = Arc::new(stopper);
    let (keeper, lease) = LeaseKeeper::new(until);
    let running = Running::new(
        &task,
        (partition, token),
        (Arc::clone(&stopper), signal.clone()),
        keeper,
    );
    let progress = running.progress.clone();
    executor.runs.add(task.id, running);
    let (executor, ends) = (Arc::clone(executor), ends.clone());
    tokio::spawn(async move {
        let output = Output::new(executor.config.output_bytes);
        let context = context_of(&task)
            .output(output.clone())
            .progress(progress)
            .stop(signal)
            .lease(lease)
            .fencing_token(token.to_string())
            .build();
        let how = run(&executor, &task, payload, &context, &stopper).await;
        // The next run may begin while this end is told; what waits to be told is bounded, then slots wait too.
        let telling = Arc::clone(&executor.telling).acquire_owned().await.ok();
        if executor.forgets_slots() {
            permit.forget();
        } else {
            drop(permit);
        }
        ends.send(End {
            partition,
            task,
            token,
            how,
            output: output.finish(),
            telling,
        })
        .await;
    });
}

fn context_of(task: &Task) -> handler::Builder {
    let traceparent = telemetry::traceparent(task.id, Stage::Run, task.attempt, task.sampled);
    TaskContext::builder(task.id, task.task_type.clone())
        .attempt(task.attempt)
        .planned_at((task.planned_at > 0).then_some(task.planned_at))
        .traceparent(traceparent)
        .run_timeout(run_timeout(task))
}

/// Lets a run end by itself. Whatever it was stopped for, with its lease it ends too.
async fn end_within<T>(
    grace: Duration,
    running: &mut (impl Future<Output = T> + Unpin),
    context: &TaskContext,
) -> Option<T> {
    if grace.is_zero() {
        return None;
    }
    let lost = context.stop().reason() == Some(StopReason::LeaseLost);
    tokio::select! {
        biased;
        () = context.lease().over(), if !lost => None,
        ended = running => Some(ended),
        () = tokio::time::sleep(grace) => None,
    }
}

fn run_timeout(task: &Task) -> Duration {
    Duration::from_millis(u64::try_from(task.run_timeout_ms).unwrap_or(0))
}

async fn run(
    executor: &Arc<Executor>,
    task: &Task,
    payload: Bytes,
    context: &TaskContext,
    stopper: &Stopper,
) -> How {
    if Sha256::digest(&payload)[..] != task.payload_sha256 {
        executor.parts.metrics.io_mismatch("payload");
        let said = "the payload is not the one that was submitted";
        return How::Failed(HandlerError::deterministic("payload_digest", said));
    }
    let handler = match handler_of(executor, task, &payload).await {
        Ok(handler) => handler,
        Err(error) => return How::Failed(error),
    };
    let progress = context.progress().clone();
    let watched = telemetry::watched(handler.run(context, payload), move |span| progress.entered(span));
    let running = AssertUnwindSafe(watched).catch_unwind();
    tokio::pin!(running);
    tokio::select! {
        // A handler that obeys ends in the same moment as it is told to; what was asked comes first.
        biased;
        _ = context.stop().requested() => {}
        () = context.lease().over() => stopper.stop(StopReason::LeaseLost),
        ended = &mut running => return result(executor, ended),
        () = tokio::time::sleep(run_timeout(task)) => stopper.stop(StopReason::TimedOut),
    }
    // The run is ended first: the handler's own way, else by dropping it. Only then its end is told.
    let reason = context.stop().reason();
    let grace = match reason {
        Some(StopReason::LeaseLost) => handler
            .lost_grace()
            .min(executor.config.lease / LOST_GRACE_OF_LEASE),
        _ => handler.stop_grace(),
    };
    let last = end_within(grace, &mut running, context).await;
    match reason {
        // A request that went out and got no answer is more than an overrun: the type may say what follows.
        Some(StopReason::TimedOut) | None => match last {
            Some(Ok(Err(error))) if error.unknown_outcome => How::Failed(error),
            _ => How::TimedOut,
        },
        Some(StopReason::LeaseLost) => How::LeaseLost,
        Some(StopReason::Cancelled | StopReason::Reset) => How::Stopped,
        Some(StopReason::ShuttingDown) => How::HandedBack,
    }
}

async fn handler_of(
    executor: &Arc<Executor>,
    task: &Task,
    payload: &Bytes,
) -> Result<Arc<dyn TaskHandler>, HandlerError> {
    let none = |reason: String| HandlerError::transient("no_handler", reason);
    let (version, known) = known_type(executor, &task.task_type).await.map_err(none)?;
    if known.spec().handler == FAN_OUT {
        return fan_out::prepare(executor, payload).await;
    }
    let handler = executor.parts.handlers.of(version, known.spec());
    handler.map_err(none)
}

/// A type and the version of the control state that it is of, read again where this executor does not know it yet.
pub(crate) async fn known_type(executor: &Executor, name: &str) -> Result<(u64, Arc<KnownType>), String> {
    let known = |table: &TypeTable| match table.get(name) {
        Some(Ok(known)) => Some((table.version(), Arc::clone(known))),
        Some(Err(_)) | None => None,
    };
    let types = &executor.parts.types;
    if let Some(known) = known(&types.table()) {
        return Ok(known);
    }
    let table = types.refresh().await.map_err(|error| error.to_string())?;
    known(&table).ok_or_else(|| format!("type {name:?} is not declared; apply it"))
}

type Ended = Result<Result<Bytes, HandlerError>, Box<dyn std::any::Any + Send>>;

fn result(executor: &Executor, ended: Ended) -> How {
    match ended {
        Ok(Ok(result)) if result.len() > executor.config.result_bytes => {
            let said = format!(
                "the result has {} bytes, at most {} are kept",
                result.len(),
                executor.config.result_bytes
            );
            How::Failed(HandlerError::new(
                ErrorClass::Deterministic,
                "result_too_large",
                said,
            ))
        }
        Ok(Ok(result)) => How::Done(result),
        Ok(Err(error)) => How::Failed(error),
        Err(panic) => {
            let message = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let message = message.or_else(|| panic.downcast_ref::<String>().cloned());
            let said = format!(
                "the handler panicked: {}",
                message.unwrap_or_else(|| "without a message".into())
            );
            How::Failed(HandlerError::new(ErrorClass::Transient, "panic", said))
        }
    }
}
