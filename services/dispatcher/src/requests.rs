//! Requests to `gengfu.admit`: the same as a submission, for a client that waits for the answer.

use std::sync::Arc;
use std::time::Duration;

use messaging::AdmitCall;
use proto::{AdmitOutcome, AdmitReply, AdmitResult};
use runtime::{Backoff, Shutdown};
use store::Admitted;

use crate::{Dispatcher, admit};

/// Most requests worked on at a time.
const AT_ONCE: usize = 64;

pub(crate) async fn run(dispatcher: Arc<Dispatcher>, shutdown: Shutdown) {
    shutdown.or_stop(serve_for_ever(&dispatcher)).await;
}

async fn serve_for_ever(dispatcher: &Arc<Dispatcher>) {
    let slots = Arc::new(tokio::sync::Semaphore::new(AT_ONCE));
    let mut backoff = Backoff::default();
    loop {
        let Ok(mut requests) = dispatcher.parts.bus.serve_admit().await else {
            tokio::time::sleep(backoff.next_wait()).await;
            continue;
        };
        while let Some(call) = requests.next().await {
            let Ok(slot) = Arc::clone(&slots).acquire_owned().await else {
                return;
            };
            let dispatcher = Arc::clone(dispatcher);
            tokio::spawn(async move {
                let limit = Duration::from_secs(5);
                let _ = tokio::time::timeout(limit, answer(&dispatcher, call)).await;
                drop(slot);
            });
        }
    }
}

async fn answer(dispatcher: &Dispatcher, call: AdmitCall) {
    let (mut tasks, mut results) = (Vec::new(), Vec::new());
    for wire in &call.request.submissions {
        match admit::checked(
            dispatcher,
            wire,
            &wire.idempotency_key,
            None,
            &wire.traceparent,
            false,
        )
        .await
        {
            Ok(task) => {
                tasks.push(task);
                results.push(None);
            }
            Err(refused) => results.push(Some(refused)),
        }
    }
    let mut answers = admit::admit(dispatcher, "nats", tasks).await.into_iter();
    let results = results
        .into_iter()
        .map(|refused| refused.unwrap_or_else(|| result(answers.next())))
        .collect();
    if let Err(error) = call.answer.send(&AdmitReply { results }).await {
        tracing::debug!(%error, "an admission could not be answered");
    }
}

fn result(answer: Option<Result<Admitted, store::Error>>) -> AdmitResult {
    let of = |id: domain::TaskId, outcome: AdmitOutcome| AdmitResult {
        task_id: id.as_bytes().to_vec().into(),
        outcome: outcome.into(),
        ..AdmitResult::default()
    };
    match answer {
        Some(Ok(Admitted::Created { id, .. })) => of(id, AdmitOutcome::Created),
        Some(Ok(Admitted::Existing { id, .. })) => of(id, AdmitOutcome::Existing),
        Some(Ok(Admitted::Conflict { id })) => AdmitResult {
            error_code: "idempotency_conflict".into(),
            error: format!("the key belongs to task {id}, which has another payload; use another key"),
            field: "idempotency_key".into(),
            ..of(id, AdmitOutcome::Refused)
        },
        Some(Err(error)) => AdmitResult {
            error: error.to_string(),
            ..admit::refused("unavailable", None)
        },
        None => admit::refused("unavailable", None),
    }
}
