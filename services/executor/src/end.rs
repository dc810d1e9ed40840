//! Tells the store how runs ended: whatever is ready, up to 64 a call, and until it is answered.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use domain::{ErrorClass, Partition, Task, TaskId, Token};
use handler::HandlerError;
use store::{Error, Failure, Finish, Reply, Verdict};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::task::JoinSet;

use crate::{Executor, attempt};

/// How long an end is told to a store that does not answer. A lease that ended meanwhile makes it a refusal.
const END_LIMIT: Duration = Duration::from_secs(600);

/// How a run ended.
pub(crate) enum How {
    Done(Bytes),
    Failed(HandlerError),
    TimedOut,
    /// Somebody asked.
    Stopped,
    /// The executor drains.
    HandedBack,
    /// Another may have it already; if nobody has, it goes back.
    LeaseLost,
}

/// A run that ended, and its place among those that are told.
pub(crate) struct End {
    pub(crate) partition: Partition,
    pub(crate) task: Task,
    pub(crate) token: Token,
    pub(crate) how: How,
    pub(crate) output: Bytes,
    /// None only where the process ends.
    pub(crate) telling: Option<OwnedSemaphorePermit>,
}

/// Where runs tell their end.
#[derive(Clone)]
pub(crate) struct Ends(mpsc::Sender<End>);

impl Ends {
    pub(crate) async fn send(&self, end: End) {
        // The receiver lives as long as the process.
        let _ = self.0.send(end).await;
    }
}

pub(crate) fn start(executor: Arc<Executor>) -> Ends {
    let (sender, receiver) = mpsc::channel(executor.config.concurrency.max(1) as usize);
    tokio::spawn(Lanes::default().run(executor, receiver));
    Ends(sender)
}

/// One call at a time for each partition: what ends meanwhile goes with the next one. So an end waits for nothing while
/// little happens, and a call carries many while much does. What waits is bounded by the places that it holds.
#[derive(Default)]
struct Lanes {
    waiting: HashMap<Partition, Vec<End>>,
    calls: JoinSet<()>,
    busy: HashMap<tokio::task::Id, Partition>,
}

impl Lanes {
    async fn run(mut self, executor: Arc<Executor>, mut receiver: mpsc::Receiver<End>) {
        let mut ended = Vec::new();
        loop {
            tokio::select! {
                // In an order, so that a simulation replays. Calls are few, so that what ended waits for none of them.
                biased;
                Some(call) = self.calls.join_next_with_id() => {
                    let id = call.map_or_else(|error| error.id(), |(id, ())| id);
                    self.busy.remove(&id);
                }
                count = receiver.recv_many(&mut ended, 256) => {
                    if count == 0 {
                        break;
                    }
                    for end in ended.drain(..) {
                        self.waiting.entry(end.partition).or_default().push(end);
                    }
                }
            }
            self.call(&executor);
        }
        self.calls.detach_all();
    }

    fn call(&mut self, executor: &Arc<Executor>) {
        let busy = &self.busy;
        let free = |partition: &Partition| !busy.values().any(|other| other == partition);
        let free: Vec<_> = self.waiting.keys().copied().filter(free).collect();
        for partition in free {
            if let Some(ends) = self.waiting.remove(&partition) {
                let call = self.calls.spawn(tell(Arc::clone(executor), partition, ends));
                self.busy.insert(call.id(), partition);
            }
        }
    }
}

/// What is told of a partition, by verb.
#[derive(Default)]
struct Told {
    done: Vec<Finish>,
    failed: Vec<Failure>,
    stopped: Vec<(TaskId, Token)>,
    handed_back: Vec<(TaskId, Token)>,
}

async fn tell(executor: Arc<Executor>, partition: Partition, ends: Vec<End>) {
    let mut told = Told::default();
    let mut held = Vec::with_capacity(ends.len());
    for end in ends {
        held.push((end.task.id, end.token, end.telling));
        let (id, token, output) = (end.task.id, end.token, end.output);
        match end.how {
            How::Done(result) => told.done.push(Finish {
                id,
                token,
                result,
                output,
            }),
            How::Failed(error) => told
                .failed
                .push(failure(&executor, &end.task, token, error, output).await),
            How::TimedOut => {
                let error = HandlerError::new(ErrorClass::Timeout, "run_timeout", overran(&end.task));
                told.failed
                    .push(failure(&executor, &end.task, token, error, output).await);
            }
            How::Stopped => told.stopped.push((id, token)),
            How::HandedBack | How::LeaseLost => told.handed_back.push((id, token)),
        }
    }
    told.write(&executor, partition).await;
    let count = held.len();
    for (id, token, telling) in held {
        executor.runs.remove((id, token));
        drop(telling);
    }
    executor.counts.complete(count);
}

fn overran(task: &Task) -> String {
    format!(
        "the run was ended after {}",
        domain::duration::format_ms(task.run_timeout_ms)
    )
}

impl Told {
    async fn write(&self, executor: &Executor, partition: Partition) {
        let (store, origin) = (&executor.parts.store, &executor.origin);
        for part in self.done.chunks(store::BATCH_MAX) {
            settle(
                executor,
                store::playing::answered(END_LIMIT, |nonce| store.complete(partition, nonce, origin, part))
                    .await,
            );
        }
        for part in self.failed.chunks(store::BATCH_MAX) {
            settle(
                executor,
                store::playing::answered(END_LIMIT, |nonce| store.fail(partition, nonce, origin, part)).await,
            );
        }
        for part in self.stopped.chunks(store::BATCH_MAX) {
            settle(
                executor,
                store::playing::answered(END_LIMIT, |nonce| store.stopped(partition, nonce, origin, part))
                    .await,
            );
        }
        for part in self.handed_back.chunks(store::BATCH_MAX) {
            settle(
                executor,
                store::playing::answered(END_LIMIT, |nonce| store.hand_back(partition, nonce, origin, part))
                    .await,
            );
        }
    }
}

fn settle(executor: &Executor, answer: Result<Reply<Verdict>, Error>) {
    match answer {
        Ok(reply) => {
            executor.parts.announcer.announce(reply.outbox);
            for refusal in reply.items.into_iter().filter_map(Result::err) {
                executor.parts.metrics.refused_write();
                tracing::warn!(
                    why = refusal.as_str(),
                    "the end of a run was refused, another claim has the task"
                );
            }
        }
        Err(error) => tracing::error!(%error, "the end of a run could not be told; its lease will end"),
    }
}

async fn failure(
    executor: &Executor,
    task: &Task,
    token: Token,
    error: HandlerError,
    output: Bytes,
) -> Failure {
    let known = attempt::known_type(executor, &task.task_type).await.ok();
    let spec = known.as_ref().map(|(_, known)| known.spec());
    let dead =
        error.unknown_outcome && spec.and_then(|spec| spec.on_unknown_outcome.as_deref()) == Some("dead");
    let backoff = spec.map(|spec| spec.backoff.clone()).unwrap_or_default();
    let [a, b, ..] = store::playing::nonce();
    let planned = backoff.delay_ms(task.retry_count + 1, u16::from_be_bytes([a, b]));
    let asked = error
        .retry_after
        .map_or(0, |wait| i64::try_from(wait.as_millis()).unwrap_or(i64::MAX));
    Failure {
        id: task.id,
        token,
        class: if dead {
            ErrorClass::Deterministic
        } else {
            error.class
        },
        code: if dead {
            "outcome_unknown".into()
        } else {
            error.code.into_owned()
        },
        error: error.message,
        output,
        delay_ms: planned.max(asked),
    }
}
