//! Submissions from `gengfu.submit.<tier>`: accepted when the store has them, acked only then.

use std::sync::Arc;
use std::time::Duration;

use domain::TaskId;
use messaging::SubmitMessage;
use proto::Refused;
use runtime::Shutdown;
use sha2::{Digest, Sha256};
use store::{Admitted, NewTask};

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
    let (mut tasks, mut messages, mut refusals) = (Vec::new(), Vec::new(), Vec::new());
    for message in batch {
        match read(dispatcher, &message).await {
            Ok(task) => {
                tasks.push(task);
                messages.push(message);
            }
            Err((code, reason)) => refusals.push((message, code, reason, None)),
        }
    }
    let mut answered = true;
    let answers = admit::admit(dispatcher, "nats", tasks).await;
    for (answer, message) in answers.into_iter().zip(messages) {
        match answer {
            Ok(Admitted::Conflict { id }) => {
                let reason =
                    format!("the key belongs to task {id}, which has another payload; use another key");
                refusals.push((message, "idempotency_conflict", reason, Some(id)));
            }
            Ok(Admitted::Created { .. } | Admitted::Existing { .. }) => drop(message.ack().await),
            Err(error) => {
                tracing::debug!(%error, "a submission waits, the store takes none");
                let _ = message.nak().await;
                answered = false;
            }
        }
    }
    let refused = refusals
        .iter()
        .map(|(message, code, reason, id)| refuse(dispatcher, message, code, reason, *id));
    futures::future::join_all(refused).await;
    answered
}

/// The task of a submission, a dead one where its input is bad; else the code and the reason why it can be none.
async fn read(dispatcher: &Dispatcher, message: &SubmitMessage) -> Result<NewTask, (&'static str, String)> {
    let wire = match &message.submission {
        Ok(wire) => wire,
        Err(error) => {
            let cause =
                std::error::Error::source(error).map_or_else(String::new, |cause| format!(": {cause}"));
            return Err((
                "undecodable",
                format!("{error}{cause}; send a gengfu.v1.Submission"),
            ));
        }
    };
    let (key, traceparent) = (message.key(), message.traceparent.as_deref().unwrap_or_default());
    admit::checked(dispatcher, wire, &key, Some(message.tier), traceparent, true)
        .await
        .map_err(|refused| ("invalid_input", refused.error))
}

/// It can never be a task: told to everybody who reads events, and ended only then.
async fn refuse(
    dispatcher: &Dispatcher,
    message: &SubmitMessage,
    code: &str,
    reason: &str,
    id: Option<TaskId>,
) {
    let digest: [u8; 32] = Sha256::digest(&message.raw).into();
    let partitions = dispatcher.parts.store.partitions();
    // Beside the task that has its key; without one, anywhere, but always in the same place.
    let partition = id.map_or_else(
        || u16::from_be_bytes([digest[0], digest[1]]) % partitions,
        |id| id.partition(partitions),
    );
    let refused = Refused {
        reason: reason.to_owned(),
        error_code: code.to_owned(),
        digest: digest.to_vec().into(),
        source: message.source(),
        at_ms: message.stored_ms().unwrap_or_else(runtime::clock::now_ms),
    };
    let publisher = dispatcher.parts.bus.publisher();
    match publisher.publish_refused(partition, refused).await {
        Ok(_) => drop(message.term().await),
        Err(error) => {
            tracing::debug!(%error, code, "a refused submission comes again, the refusal could not be told");
        }
    }
}
