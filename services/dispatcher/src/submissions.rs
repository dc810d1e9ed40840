//! Submissions from `gengfu.submit.<tier>`: accepted when the store has them, acked only then.

use std::sync::Arc;
use std::time::Duration;

use messaging::SubmitMessage;
use runtime::Shutdown;
use sha2::{Digest, Sha256};
use store::Admitted;

use crate::{Dispatcher, admit};

/// Most submissions taken at a time.
const BATCH: usize = 256;
/// How long to wait once the store admits nothing.
const PAUSE: Duration = Duration::from_millis(500);

pub(crate) async fn run(dispatcher: Arc<Dispatcher>, shutdown: Shutdown) {
    let mut submissions = dispatcher.parts.bus.submissions();
    while let Some(batch) = shutdown.or_stop(submissions.next_batch(BATCH)).await {
        if !take(&dispatcher, batch).await {
            shutdown.or_stop(tokio::time::sleep(PAUSE)).await;
        }
    }
    submissions.close().await;
}

/// Whether the store answered.
async fn take(dispatcher: &Dispatcher, batch: Vec<SubmitMessage>) -> bool {
    let (mut tasks, mut messages) = (Vec::new(), Vec::new());
    for message in batch {
        let Ok(wire) = &message.submission else {
            refuse(&message, "undecodable").await;
            continue;
        };
        let (key, traceparent) = (message.key(), message.traceparent.clone().unwrap_or_default());
        match admit::checked(dispatcher, wire, &key, Some(message.tier), &traceparent, true).await {
            Ok(task) => {
                tasks.push(task);
                messages.push(message);
            }
            Err(_) => refuse(&message, "invalid_input").await,
        }
    }
    let mut answered = true;
    for (answer, message) in admit::admit(dispatcher, "nats", tasks)
        .await
        .into_iter()
        .zip(&messages)
    {
        match answer {
            Ok(Admitted::Conflict { .. }) => refuse(message, "idempotency_conflict").await,
            Ok(_) => drop(message.ack().await),
            Err(error) => {
                tracing::debug!(%error, "a submission waits, the store takes none");
                let _ = message.nak().await;
                answered = false;
            }
        }
    }
    answered
}

/// It can never be a task: said once, with its digest, and ended.
async fn refuse(message: &SubmitMessage, code: &str) {
    let digest = format!(
        "{:x}",
        u128::from_be_bytes(Sha256::digest(&message.raw)[..16].try_into().unwrap_or_default())
    );
    tracing::warn!(
        code,
        digest,
        source = message.source(),
        "a submission was refused"
    );
    let _ = message.term().await;
}
